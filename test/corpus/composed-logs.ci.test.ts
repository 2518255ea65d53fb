/**
 * Logs composed of the launches of real ones, see `test/support/launches/composed-logs.ts`: how many launches each has,
 * how each ended, how far it came, and no OOM in the headline where the judged launch had none.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { diagnose } from '../../src/findings/flows/diagnose.js';
import { describeLog } from '../../src/findings/run/describe-log.js';
import { ingest } from '../../src/ingest/ingest.js';
import type { LaunchEnding } from '../../src/model/launch-end.js';
import { openStore } from '../../src/store/open-store.js';
import { scratchDirectory } from '../store/scratch.js';
import { bodyOf, type ComposedEnding, composeLogs, type LaunchBody } from '../support/launches/composed-logs.js';
import { runs } from '../support/level.js';
import { corpusSuite, LOGS, namesIn } from './corpus-suite.js';

/** The bar of 98 % is for 200 logs, which take minutes: `MBF_COMPOSED=200`. */
const COUNT = Number(process.env['MBF_COMPOSED'] ?? runs(20, 200));
/** NCCL's own lines are thinned out above this. */
const MOST_LINES = 700;

const EXPECTED: Readonly<Record<ComposedEnding, LaunchEnding>> = {
  finished: 'finished',
  cancelled: 'cancelled',
  time_limit: 'time_limit',
  preempted: 'preempted',
  signalled: 'cancelled',
  killed: 'killed',
  host_oom: 'oom',
  oom: 'oom',
  failed: 'failed',
  stopped: 'unknown',
};

/** Logs of one launch: not those that are excerpts of several. */
function realBodies(): LaunchBody[] {
  return namesIn('logs')
    .filter((name) => existsSync(join(LOGS, `${name}.meta.json`)))
    .flatMap((name) => {
      const meta = JSON.parse(readFileSync(join(LOGS, `${name}.meta.json`), 'utf8')) as {
        readonly framework: string;
        readonly expected: { readonly iterations_monotonic?: boolean };
      };
      if (meta.framework.includes('excerpt') || meta.expected.iterations_monotonic === false) return [];
      return bodyOf(name, readFileSync(join(LOGS, name), 'latin1'), MOST_LINES) ?? [];
    });
}

const bodies = realBodies();

corpusSuite('logs composed of real launches', bodies, () => {
  it(`are read as composed, ${COUNT} of them`, async () => {
    const directory = scratchDirectory();
    const store = await openStore(join(directory, 'logs.duckdb'), { mode: 'write' });
    onTestFinished(() => store.close());
    const wrong: Record<'launches' | 'endings' | 'iterations' | 'oom', string[]> = {
      ...{ launches: [], endings: [], iterations: [], oom: [] },
    };
    let launches = 0;
    for (const { name, text, launches: truth } of composeLogs(bodies, COUNT, 1)) {
      const file = join(directory, `${name}.log`);
      writeFileSync(file, text, 'latin1');
      const { run_id: runId } = await ingestAs(name, file);
      const log = (await describeLog(store, runId, name)).runs[0]!;
      launches += truth.length;
      if (log.attempts.length !== truth.length) {
        wrong.launches.push(`${name}: ${log.attempts.length} launches, composed of ${truth.length}`);
        continue;
      }
      for (const [i, { ending, lastIteration }] of truth.entries()) {
        const read = log.attempts[i]!;
        if (read.ending !== EXPECTED[ending])
          wrong.endings.push(`${name} launch ${i + 1}: ${read.ending}, composed as ${ending}`);
        if (lastIteration !== null && read.last_iteration !== lastIteration)
          wrong.iterations.push(`${name} launch ${i + 1}: last iteration ${read.last_iteration} for ${lastIteration}`);
      }
      const { verdicts, judged_launch: judged } = await diagnose(store, runId, name);
      const { ending } = truth[judged - 1]!;
      const isOom = verdicts.some(({ cause }) => cause !== 'not_oom' && cause !== 'undecided');
      if (isOom && EXPECTED[ending] !== 'oom')
        wrong.oom.push(`${name}: ${verdicts[0]!.cause} of a launch composed as ${ending}`);
    }
    expect(wrong.oom).toEqual([]);
    // 98 %; of few logs, one may be wrong.
    const most = (of: number): number => Math.ceil(0.02 * of);
    expect(wrong.launches.length, wrong.launches.join('\n')).toBeLessThanOrEqual(most(COUNT));
    expect(wrong.endings.length, wrong.endings.join('\n')).toBeLessThanOrEqual(most(launches));
    expect(wrong.iterations.length, wrong.iterations.join('\n')).toBeLessThanOrEqual(most(launches));

    async function ingestAs(run: string, path: string) {
      await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [path], run, now: new Date() });
      return (await store.all('store.runs', { run_id: null })).find((row) => row.name === run)!;
    }
  });
});
