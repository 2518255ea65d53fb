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
import { canonicalConfigKey } from '../../src/knowledge/config-keys.js';
import type { LaunchEnding } from '../../src/model/launch-end.js';
import { openStore } from '../../src/store/open-store.js';
import { scratchDirectory } from '../store/scratch.js';
import { bodyOf, composeLogs, type LaunchBody } from '../support/launches/composed-logs.js';
import type { ComposedEnding } from '../support/launches/end-lines.js';
import { runs } from '../support/level.js';
import { corpusSuite, LOGS, namesIn } from './corpus-suite.js';

/** The bars are for hundreds of logs, which take minutes: `MBF_COMPOSED=200`, and others with `MBF_COMPOSED_SEED=2`. */
const COUNT = Number(process.env['MBF_COMPOSED'] ?? runs(20, 200));
const SEED = Number(process.env['MBF_COMPOSED_SEED'] ?? 1);
/** Of a hundred, what may be wrong. */
const MOST_WRONG = { launches: 1, endings: 0.2, iterations: 1, ranks: 1, settings: 1 } as const;
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

/** Settings that a log prints, under any of their names. */
const printed = new Map(
  bodies.map(({ name, lines }) => [
    name,
    new Set([...new Set(lines.flatMap((line) => line.match(/\w[\w-]{3,60}/g) ?? []))].map(canonicalConfigKey)),
  ]),
);
/** What the process printed itself goes before its command line. */
const isOverruled = (body: string, key: string): boolean => printed.get(body)!.has(canonicalConfigKey(key));

corpusSuite('logs composed of real launches', bodies, () => {
  it(`are read as composed, ${COUNT} of them`, async () => {
    const directory = scratchDirectory();
    const store = await openStore(join(directory, 'logs.duckdb'), { mode: 'write' });
    onTestFinished(() => store.close());
    const wrong = { launches: [], endings: [], iterations: [], ranks: [], settings: [], oom: [] } as Record<
      keyof typeof MOST_WRONG | 'oom',
      string[]
    >;
    const asked = { launches: COUNT, endings: 0, iterations: 0, ranks: 0, settings: 0 };
    for (const { name, text, launches: truth } of composeLogs(bodies, COUNT, SEED)) {
      const file = join(directory, `${name}.log`);
      writeFileSync(file, text, 'latin1');
      const { run_id: runId } = await ingestAs(name, file);
      const log = (await describeLog(store, runId, name)).runs[0]!;
      asked.endings += truth.length;
      asked.iterations += truth.length;
      asked.ranks += truth.filter(({ first }) => first !== undefined).length;
      asked.settings += truth.filter(
        ({ body, setting }) => setting !== undefined && !isOverruled(body, setting.key),
      ).length;
      if (log.attempts.length !== truth.length) {
        wrong.launches.push(`${name}: ${log.attempts.length} launches, composed of ${truth.length}`);
        continue;
      }
      for (const [i, { body, ending, lastIteration, first, setting }] of truth.entries()) {
        const read = log.attempts[i]!;
        const launch = `${name} launch ${i + 1}`;
        if (read.ending !== EXPECTED[ending]) wrong.endings.push(`${launch}: ${read.ending}, composed as ${ending}`);
        if (lastIteration !== null && read.last_iteration !== lastIteration)
          wrong.iterations.push(`${launch}: last iteration ${read.last_iteration} for ${lastIteration}`);
        const isStated = setting !== undefined && !isOverruled(body, setting.key);
        if (isStated && read.settings[canonicalConfigKey(setting.key)] !== setting.value)
          wrong.settings.push(`${launch}: ${JSON.stringify(read.settings)}, composed with ${JSON.stringify(setting)}`);
        if (
          first !== undefined &&
          (read.ending_rank !== first.rank || (first.host ?? read.ending_host) !== read.ending_host)
        )
          wrong.ranks.push(
            `${launch}: rank ${read.ending_rank} of ${read.ending_host}, composed of ${first.rank} of ${first.host} (${ending}, read as ${read.ending_kind} line ${read.ending_line})`,
          );
      }
      // The launch that is judged is one with a known end.
      if (truth.every(({ ending }) => EXPECTED[ending] === 'oom')) continue;
      const { verdicts, judged_launch: judged } = await diagnose(store, runId, name);
      const { ending } = truth[judged - 1]!;
      const isOom = verdicts.some(({ cause }) => cause !== 'not_oom' && cause !== 'undecided');
      if (isOom && EXPECTED[ending] !== 'oom')
        wrong.oom.push(`${name}: ${verdicts[0]!.cause} of a launch composed as ${ending}`);
    }
    const figures = Object.entries(asked).map(
      ([what, of]) => `${what} ${of - wrong[what as keyof typeof asked].length} of ${of}`,
    );
    process.stderr.write(`composed logs, seed ${SEED}: ${figures.join(', ')}; false OOM ${wrong.oom.length}\n`);
    expect(wrong.oom).toEqual([]);
    for (const [what, percent] of Object.entries(MOST_WRONG)) {
      const list = wrong[what as keyof typeof MOST_WRONG];
      const most = Math.floor((percent / 100) * asked[what as keyof typeof asked]);
      expect.soft(list.length, `${what}:\n${list.join('\n')}`).toBeLessThanOrEqual(most);
    }

    async function ingestAs(run: string, path: string) {
      await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [path], run, now: new Date() });
      return (await store.all('store.runs', { run_id: null })).find((row) => row.name === run)!;
    }
  });
});
