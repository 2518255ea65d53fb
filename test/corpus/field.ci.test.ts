/** Inputs from the field, each an example of its kind of fault, and the right answer to each as data. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import { buildCli } from '../support/cli.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';

interface Case {
  readonly case: string;
  readonly verb?: readonly string[];
  readonly verdict?: object;
  readonly first?: string;
  readonly then?: string;
  readonly shows?: readonly string[];
  readonly never?: readonly string[];
}

const CASES = parse(readFileSync(new URL('field.yaml', import.meta.url), 'utf8')) as readonly Case[];
const FIELD = join(CORPUS, '..', 'field', 'turn3');

/** The files of a case, without its description. */
function filesOf(number: string): string[] {
  const folder = readdirSync(FIELD).find((name) => name.startsWith(`${number}-`))!;
  const files = readdirSync(join(FIELD, folder)).filter((name) => !name.endsWith('expect.md'));
  return files.map((name) => join(FIELD, folder, name));
}

describe('an input from the field', () => {
  if (!existsSync(FIELD)) {
    skipLoudly('field', 'inputs from the field beside the corpus (MBF_CORPUS)');
    return;
  }
  const ask = (args: readonly string[]) => buildCli().run([...args], { env: { COLUMNS: '100' } }).stdout;

  it.each(CASES)('$case', ({ case: number, verb = ['diagnose'], verdict, first, then, shows = [], never = [] }) => {
    const args = [...verb, ...filesOf(number)];
    // Lines are wrapped at the width of the screen.
    const screen = ask(args).replaceAll(/\s*\n\s*/g, ' ');
    for (const text of shows) expect(screen).toMatch(new RegExp(text));
    for (const text of never) expect(screen).not.toMatch(new RegExp(text));
    if (verdict === undefined && first === undefined && then === undefined) return;
    const { verdicts } = JSON.parse(ask([...args, '--json=full'])) as DiagnoseResult;
    expect(verdicts[0]).toMatchObject(verdict ?? {});
    if (first !== undefined) expect(verdicts[0]!.next[0]).toMatch(new RegExp(first));
    if (then !== undefined) expect(verdicts[0]!.next[1]).toMatch(new RegExp(then));
  });
});
