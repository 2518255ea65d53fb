/** docs/lint.md names rules that exist. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { lintRule } from '../../../src/findings/lint/rules.js';

it('names only rules that exist', () => {
  const text = readFileSync(new URL('../../../docs/lint.md', import.meta.url), 'utf8');
  const [, covered = ''] = /## Checks that are covered\n([\s\S]*?)\n## /.exec(text) ?? [];
  const ids = covered
    .split('\n')
    .flatMap((line) => [...(line.split('|')[2] ?? '').matchAll(/`([a-z0-9-]+)`/g)].map((match) => match[1]!));
  expect(ids.length).toBeGreaterThan(100);
  expect(ids.filter((id) => lintRule(id) === undefined)).toEqual([]);
});
