/** Rows of questions about a lake, by samples/lake/ask.py and by the program. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'vitest';
import { questionNames } from '../../../src/lake/questions.js';
import { repoRoot } from '../../store/scratch.js';
import type { Cli } from '../cli.js';

export const ASK = join(repoRoot, 'samples', 'lake', 'ask.py');

/** What every engine is asked: our questions, and a text of every construct of the shared SQL. */
export const ASKED: readonly string[] = [...questionNames(), join(repoRoot, 'test', 'lake', 'shared.sql')];

/** Names and rows of CSV, NULL as the empty field. */
export const programRows = (cli: Cli, lake: string, question: string): string =>
  cli.expect(0, ['lake', 'ask', question, '--lake', lake, '--format', 'csv', '--csv-raw']).stdout;

/** The same by ask.py, for each question; `program`: what runs it. */
export function pythonRows(
  program: readonly string[],
  lake: string,
  questions: readonly string[],
  out: string,
  more: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
): ReadonlyMap<string, string> {
  const [command = '', ...args] = program;
  const asked = [...args, ASK, lake, questions.join(','), '--out', out, ...(more.args ?? [])];
  const { status, stderr, error } = spawnSync(command, asked, {
    encoding: 'utf8',
    env: { ...process.env, ...more.env },
    maxBuffer: 2 ** 28,
  });
  expect(status, `${error?.message ?? ''}${stderr.slice(-4000)}`).toBe(0);
  return new Map(questions.map((name) => [name, readFileSync(join(out, `${basename(name)}.csv`), 'utf8')]));
}
