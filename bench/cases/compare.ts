/**
 * Whether questions about two runs cost more in a store of many: `compare` and `diff`; and what `history` of all of
 * them costs.
 */
import { cpSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildRepository } from '../../samples/generate/repository/build-repository.js';
import { type BenchContext, type Case, runCli } from '../case.js';
import { alternate, type Contender, type Sample } from '../measure.js';
import type { Bar, Group } from '../report.js';

const FEW = 10;
/** In a run of all cases. */
const SMALL = 100;
const START_UP = '--version';

export const compareCase: Case = {
  name: 'compare',
  async *run(context) {
    for (const asked of context.events) {
      const many = asked > 10_000 ? SMALL : asked;
      const directory = await mkdtemp(join(context.directory, 'compare-'));
      try {
        const trained = await train(directory);
        const few = await storeOf(context, directory, trained, FEW);
        yield await ratios(context, few, await storeOf(context, directory, trained, many), many);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    }
  },
};

/** Ten trainings, each with a log and a snapshot. */
async function train(directory: string): Promise<string> {
  const repository = await buildRepository(join(directory, 'repository'), { seed: 7, kind: 'memory' });
  const commits = repository.commits.filter(({ spoiled }) => spoiled === 'never').slice(0, FEW);
  for (const [i, { sha }] of commits.entries()) {
    const output = join(directory, 'trained', String(i));
    await repository.train(sha, 1, output);
  }
  return join(directory, 'trained');
}

/** A store of so many runs: the trainings over and over. */
async function storeOf(context: BenchContext, directory: string, trained: string, runs: number): Promise<string> {
  const all = join(directory, `runs-${runs}`);
  for (let i = 0; i < runs; i += 1)
    cpSync(join(trained, String(i % FEW)), join(all, `run-${String(i).padStart(5, '0')}`), { recursive: true });
  const db = join(directory, `${runs}.duckdb`);
  await runCli(context, ['ingest', all, '--each', '--db', db, '--quiet']);
  return db;
}

async function ratios(context: BenchContext, few: string, many: string, count: number): Promise<Group> {
  const plain = ({ seconds, peakRssBytes }: Sample): Sample => ({ seconds, peakRssBytes });
  const contender =
    (row: string, args: readonly string[]): Contender =>
    async () => ({ [row]: plain(await runCli(context, args)) });
  const verbs: Readonly<Record<string, readonly string[]>> = {
    // Twins: the exit code is 0.
    compare: ['compare', 'run-00001', '--golden', 'run-00001'],
    diff: ['diff', 'run-00001', 'run-00003'],
    history: ['history', '--metric', 'peak_active_bytes'],
  };
  const name = (verb: string, runs: number): string => `${verb}, ${runs} runs`;
  const contenders = Object.entries(verbs).flatMap(([verb, args]) => [
    contender(name(verb, FEW), [...args, '--db', few]),
    contender(name(verb, count), [...args, '--db', many]),
  ]);
  // Once untimed: the walks of the snapshots are kept.
  for (const db of [few, many]) for (const args of Object.values(verbs)) await runCli(context, [...args, '--db', db]);
  const samples = await alternate(
    [contender(START_UP, ['--version']), ...contenders],
    context.repeat,
    context.progress,
  );
  const bars: Record<string, Bar[]> = {};
  for (const verb of ['compare', 'diff']) bars[name(verb, count)] = [{ of: name(verb, FEW), limit: 2 }];
  // 1.3 × per run.
  bars[name('history', count)] = [{ of: name('history', FEW), limit: (1.3 * count) / FEW }];
  return {
    case: 'compare',
    title: `a store of ${count} runs against one of ${FEW}`,
    baselines: Object.keys(verbs).map((verb) => name(verb, FEW)),
    samples,
    work: {},
    bars,
    notes: ['whole processes with their start-up, in turn; the walks of the snapshots asked about are in the store'],
  };
}
