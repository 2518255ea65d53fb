/** How launches ended, and which one is judged. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/findings/flows/diagnose.js';
import { describeLog } from '../../../src/findings/run/describe-log.js';
import { diagnoseText } from '../../../src/report/start/diagnose-text.js';
import { wordDiagnosis } from '../../../src/report/verdict/word-verdict.js';
import { ENDS, FINISHED, iteration, range, readComposed, STARTS } from '../../support/launches/pieces.js';
import { RUN, withTextRuns } from '../../support/text-run.js';

const steps = (from: number, to: number): string[] => range(from, to).map((i) => iteration(i));
const launch = (end: readonly string[]): string[] => [...STARTS.megatron, ...steps(1, 8), ...end];
const end = (name: string): readonly string[] => ENDS.find(([known]) => known === name)![2];

function ask(lines: readonly string[]) {
  const { rows, incidents, attempts } = readComposed(lines);
  return withTextRuns([[{ path: 'train.log', rows, incidents, attempts }]], async (store) => {
    const [run] = (await describeLog(store, 1, RUN)).runs;
    return { run: run!, screen: diagnoseText(wordDiagnosis(await diagnose(store, 1, RUN))) };
  });
}

describe('the end of a launch', () => {
  it('is what its lines show, one launch after the other', async () => {
    const { run } = await ask([...ENDS.flatMap(([, , lines]) => launch(lines)), ...launch([FINISHED.megatron])]);
    expect(run.attempts.map(({ ending }) => ending)).toEqual([...ENDS.map(([, ending]) => ending), 'finished']);
    expect(run.first_failure).toBeNull();
  });

  it('is no failure that the launch went on after', async () => {
    const handled = [
      'Traceback (most recent call last):',
      '  File "/opt/run/x.py", line 1, in f',
      'ValueError: no API',
    ];
    const lines = [...STARTS.megatron, ...steps(1, 5), ...handled, ...steps(6, 30)];
    expect((await ask([...lines, FINISHED.megatron])).run.attempts[0]!.ending).toBe('finished');
    expect((await ask([...lines, ...end('a cancelled job')])).run.attempts[0]!.ending).toBe('cancelled');
  });
});

it('does not take versions of one launch for those of another', async () => {
  const report = (name: string, version: string): string => `${name} .................... ${version}`;
  const first = [report('torch version', '2.1.0'), report('nvcc version', '12.1'), ...launch(end('an OOM'))];
  const { run } = await ask([...first, report('torch version', '2.2.1'), ...launch([FINISHED.megatron])]);
  expect(run.versions).toMatchObject({ torch: '2.2.1' });
  expect(Object.values(run.versions)).not.toContain('12.1');
});

describe('diagnose', () => {
  it('reports a run that finished after an OOM as finished', async () => {
    const { screen } = await ask([...launch(end('an OOM')), ...launch([FINISHED.megatron])]);
    expect(screen).toContain('rank unknown · launch 2 of 2');
    expect(screen).toMatch(/^NO OOM · [\s\S]*1: out of memory/);
  });

  it('has OOM in its headline only where there is one', async () => {
    for (const [name, ending, lines] of ENDS) {
      const { screen } = await ask(launch(lines));
      const [head] = screen.split('\n');
      expect(head!.startsWith('OOM'), name).toBe(ending === 'oom');
    }
    expect((await ask(launch([]))).screen).toMatch(/^NO FAILURE FOUND/);
  });

  it('leaves SIGKILL undecided, and names the host as a candidate', async () => {
    const { screen } = await ask(launch(end('the word Killed')));
    expect(screen).toMatch(/^KILLED/);
    expect(screen).toContain('the host may have been out of memory');
  });
});
