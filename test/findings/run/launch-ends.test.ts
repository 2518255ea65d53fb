/** How launches ended, and which one is judged. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/findings/flows/diagnose.js';
import { describeLog } from '../../../src/findings/run/describe-log.js';
import { wordDiagnosis } from '../../../src/report/verdict/word-verdict.js';
import type { Store } from '../../../src/store/store.js';
import { ENDS, FINISHED, iteration, range, readComposed, STARTS } from '../../support/launches/pieces.js';
import { diagnoseText } from '../../support/screen.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { openTextRuns, RUN } from '../../support/text-run.js';

const steps = (from: number, to: number): string[] => range(from, to).map((i) => iteration(i));
const launch = (...end: readonly string[]): string[] => [...STARTS.megatron, ...steps(1, 8), ...end];
const end = (name: string): readonly string[] => ENDS.find(([known]) => known === name)![2];
const RAISED = [
  ...[...STARTS.megatron, ...steps(1, 5), 'Traceback (most recent call last):'],
  ...['  File "/opt/run/x.py", line 1, in f', 'ValueError: no API', ...steps(6, 30)],
];
const version = (name: string, version: string): string => `${name} .................... ${version}`;

const RUNS: Readonly<Record<string, readonly string[]>> = {
  all: [...ENDS.flatMap(([, , lines]) => launch(...lines)), ...launch(FINISHED.megatron)],
  'raised, finished': [...RAISED, FINISHED.megatron],
  'raised, cancelled': [...RAISED, ...end('a cancelled job')],
  versions: [
    ...[version('torch version', '2.1.0'), version('nvcc version', '12.1'), ...launch(...end('an OOM'))],
    ...[version('torch version', '2.2.1'), ...launch(FINISHED.megatron)],
  ],
  'OOM, finished': [...launch(...end('an OOM')), ...launch(FINISHED.megatron)],
  none: launch(),
  ...Object.fromEntries(ENDS.map(([name, , lines]) => [name, launch(...lines)])),
};

let store: Store;
beforeAll(async () => {
  const runs = Object.values(RUNS).map((lines) => {
    const { rows, incidents, attempts } = readComposed(lines);
    return [{ path: 'train.log', rows, incidents, attempts }];
  });
  store = await openTextRuns(join(temporaryDirectory(), 'launches.duckdb'), runs);
});
afterAll(() => store.close());

const idOf = (name: string): number => Object.keys(RUNS).indexOf(name) + 1;
const runOf = async (name: string) => (await describeLog(store, idOf(name), RUN)).runs[0]!;
const screenOf = async (name: string) => diagnoseText(wordDiagnosis(await diagnose(store, idOf(name), RUN)));

describe('the end of a launch', () => {
  it('is what its lines show, one launch after the other', async () => {
    const run = await runOf('all');
    expect(run.attempts.map(({ ending }) => ending)).toEqual([...ENDS.map(([, ending]) => ending), 'finished']);
    expect(run.first_failure).toBeNull();
  });

  it.each(['finished', 'cancelled'])('is not a failure that the launch went on after: %s', async (ending) => {
    expect((await runOf(`raised, ${ending}`)).attempts[0]!.ending).toBe(ending);
  });
});

it('does not take versions of one launch for those of another', async () => {
  const { versions } = await runOf('versions');
  expect(versions).toMatchObject({ torch: '2.2.1' });
  expect(Object.values(versions)).not.toContain('12.1');
});

describe('diagnose', () => {
  it('reports a run that finished after an OOM as finished', async () => {
    const screen = await screenOf('OOM, finished');
    expect(screen).toMatch(/^OOM IN LAUNCH 1 · launch 2 of 2 finished · /);
    expect(screen).toMatch(/\nOTHERS {3}launch 1 ran out of memory: 2\.00 GiB requested, 1\.31 GiB free of 79\.11 GiB/);
  });

  it.each(ENDS)('has OOM in its headline only where there is one: %s', async (name, ending) => {
    expect(/^(?:HOST )?OOM/.test(await screenOf(name))).toBe(ending === 'oom');
  });

  it('reports that no failure was found', async () => {
    expect(await screenOf('none')).toMatch(/^NO FAILURE FOUND/);
  });

  it('leaves SIGKILL undecided, and names the host as a candidate', async () => {
    const screen = await screenOf('the word Killed');
    expect(screen).toMatch(/^KILLED/);
    expect(screen).toContain('the host may have been out of memory');
  });
});
