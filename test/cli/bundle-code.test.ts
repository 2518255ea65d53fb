import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/store/load-queries.js';

test('V8 takes the code that the build kept', async () => {
  const file = join(packageRoot(), 'dist', 'src', 'cli', 'load-bundle.js');
  const { loadBundled, scripts } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    loadBundled(id: string): unknown;
    scripts: ReadonlyMap<string, Script>;
  };
  loadBundled('./program.cjs');
  expect(scripts.size).toBeGreaterThan(1);
  expect([...scripts].filter(([, script]) => script.cachedDataRejected !== false).map(([path]) => path)).toEqual([]);
  // V8 accepts code of another processor, and fails when it runs it.
  const kept = readdirSync(dirname([...scripts.keys()][0]!)).filter((name) => name.endsWith('.code'));
  const platform = `.cjs.${process.platform}-${process.arch}.code`;
  expect(kept.length).toBeGreaterThan(1);
  expect(kept.filter((name) => !name.endsWith(platform))).toEqual([]);
});
