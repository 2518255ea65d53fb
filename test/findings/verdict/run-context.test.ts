/** What the files of a run add to a message: `runs.yaml`. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { expectScreen } from '../../support/screen.js';
import { linesOf } from './log-lines.js';
import { type Files, runsOfFiles } from './runs-of-files.js';

const TEXTS = ['summary', 'next', 'evidence', 'hint', 'all'] as const;
interface Case extends Readonly<Partial<Record<(typeof TEXTS)[number], readonly string[]>>> {
  readonly case: string;
  readonly log: readonly string[];
  readonly script?: readonly string[];
  /** The name of the log. */
  readonly file?: string;
  readonly is?: object;
  readonly first?: object;
  readonly verdicts?: number;
  readonly ranks?: readonly number[];
  readonly ruledOut?: string;
}

const GROUPS = parse(readFileSync(new URL('runs.yaml', import.meta.url), 'utf8')) as Record<string, readonly Case[]>;
const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const filesOf = ({ log, script, file = 'train.log' }: Case): Files => ({
  [file]: joined(log.flatMap(linesOf)),
  ...(script === undefined ? {} : { 'launch.sbatch': joined(['#!/bin/bash', '#SBATCH --nodes=1', ...script]) }),
});
const nameOf = (text: string): string => text.replaceAll(/\W+/g, '-');

const { diagnosed } = runsOfFiles(
  Object.fromEntries(Object.values(GROUPS).flatMap((cases) => cases.map((one) => [nameOf(one.case), filesOf(one)]))),
);

describe.each(Object.entries(GROUPS))('%s', (_, cases) => {
  it.each(cases)('$case', async (one) => {
    const result = await diagnosed(nameOf(one.case));
    expectScreen(result);
    const [verdict] = result.verdicts;
    expect(verdict).toMatchObject(one.is ?? {});
    if (one.verdicts !== undefined) expect(result.verdicts).toHaveLength(one.verdicts);
    if (one.ranks !== undefined) expect(result.verdicts.map(({ rank }) => rank)).toEqual(one.ranks);
    if (one.first !== undefined) expect(result.first_failure).toMatchObject(one.first);
    if (one.ruledOut !== undefined) expect(verdict!.ruled_out.map(({ cause }) => cause)).toContain(one.ruledOut);
    const { summary, next, evidence, hint } = verdict!;
    const texts = {
      ...{ summary, next: next.join(' '), evidence: evidence.map(({ text }) => text).join('\n') },
      ...{ hint: hint === null ? '' : JSON.stringify(hint), all: JSON.stringify(verdict) },
    };
    for (const name of TEXTS)
      for (const expected of one[name] ?? []) {
        if (expected.startsWith('/')) expect(texts[name]).toMatch(new RegExp(expected.slice(1, -1)));
        else if (expected.startsWith('!')) expect(texts[name]).not.toContain(expected.slice(1));
        else expect(texts[name]).toContain(expected);
      }
  });
});
