/** A run of a thousand ranks: reading it, and questions about all ranks and about one of them. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { formatCount } from '../../src/model/units.js';
import { type BenchContext, type Case, runCli, Skip, withFreshStore } from '../case.js';
import { ENTRIES_PER_RANK, type ManyRanks, manyRanksInput } from '../many-ranks-input.js';
import { alternate, type Contender, type Sample } from '../measure.js';
import { type Bar, type Group, MEDIAN } from '../report.js';
import { ingestInto, ingestWords } from './snapshot-store.js';

/** Ingest of so many shows whether memory grows with the ranks. */
const FEWER = 8;
const RANK = 17;

const STATEMENTS: Readonly<Record<string, { readonly sql: string; readonly seconds?: number }>> = {
  'FROM rank_summary': { sql: 'FROM rank_summary', seconds: 3 },
  'FROM peak_component': { sql: 'FROM peak_component', seconds: 3 },
  'FROM peak_site': { sql: 'FROM peak_site' },
  'FROM run_summary': { sql: 'FROM run_summary' },
  'rank_summary of a rank': { sql: `FROM rank_summary WHERE rank = ${RANK}`, seconds: 0.3 },
  'peak_component of a rank': { sql: `FROM peak_component WHERE rank = ${RANK}`, seconds: 0.3 },
  'peak_site of a rank': { sql: `FROM peak_site WHERE rank = ${RANK}` },
};

export const manyRanksCase: Case = {
  name: 'many-ranks',
  async *run(context) {
    const { ranks } = context;
    const all = await manyRanksInput(context, ranks);
    const directory = await mkdtemp(join(context.directory, 'many-'));
    const db = join(directory, 'all.duckdb');
    try {
      yield await ingestion(context, all, db, directory);
      yield await questions(context, db);
      yield await cores(context);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

/** Once each: a thousand snapshots take minutes. The store of all ranks stays. */
async function ingestion(context: BenchContext, all: ManyRanks, db: string, directory: string): Promise<Group> {
  const { ranks } = context;
  const few = await manyRanksInput(context, Math.ceil(ranks / FEWER));
  const row = (count: number): string => `ingest, ${formatCount(count)} ranks`;
  const countLifetimes = async (): Promise<number> => {
    const { stdout } = await runCli(context, ['sql', 'SELECT count(*) FROM block_life', '--format', 'csv', '--db', db]);
    return Number(stdout.trim().split('\n').at(-1));
  };
  const fewer = row(few.ranks);
  const samples = new Map<string, readonly Sample[]>([
    [fewer, [await ingestInto(context, few.directory, join(directory, 'few.duckdb'))]],
    [row(ranks), [await ingestInto(context, all.directory, db)]],
  ]);
  const lifetimes = await countLifetimes();
  if (lifetimes < 8_000 * ranks)
    throw new Error(`${lifetimes} lifetimes of ${ranks} ranks: at least 8,000 each were recorded`);
  return {
    case: 'many-ranks',
    title: `${formatCount(ranks)} ranks, ${formatCount(ENTRIES_PER_RANK)} entries each, ${formatCount(lifetimes)} lifetimes`,
    baselines: [fewer],
    samples,
    work: { [fewer]: { bytes: few.bytes }, [row(ranks)]: { bytes: all.bytes } },
    bars: {},
    notes: ['once each; memory must not grow with the ranks'],
  };
}

/** The same files on one core, where they are read one after the other, and on all; time, and CPU time a rank. */
async function cores(context: BenchContext): Promise<Group> {
  if (spawnSync('taskset', ['-c', '0', 'true']).status !== 0) throw new Skip('taskset was not found: one core');
  const ranks = Math.ceil(context.ranks / FEWER);
  const { directory, bytes } = await manyRanksInput(context, ranks);
  const contender =
    (row: string, launcher: readonly string[]): Contender =>
    () =>
      withFreshStore(context, async (db) => {
        const { seconds, peakRssBytes, cpuSeconds } = await runCli(context, ingestWords(directory, db), launcher);
        const cpu = { seconds: (cpuSeconds ?? Number.NaN) / ranks, peakRssBytes: null };
        return { [row]: { seconds, peakRssBytes }, ...(cpuSeconds === null ? {} : { [`${row}: CPU a rank`]: cpu }) };
      });
  const SERIAL = 'one core';
  const all = `${availableParallelism()} cores`;
  const samples = await alternate(
    [contender(SERIAL, ['taskset', '-c', '0']), contender(all, [])],
    context.repeat,
    context.progress,
  );
  return {
    case: 'many-ranks',
    title: `ingest of ${formatCount(ranks)} ranks on one core and on all`,
    baselines: [...samples.keys()].filter((row) => row.startsWith(SERIAL)),
    samples,
    work: { [SERIAL]: { bytes }, [all]: { bytes } },
    bars: { [`${all}: CPU a rank`]: [{ of: `${SERIAL}: CPU a rank`, limit: 1.15 }] },
    notes: ['whole processes with their start-up, in turn'],
  };
}

async function questions(context: BenchContext, db: string): Promise<Group> {
  const START_UP = '--version';
  const contender =
    (row: string, args: readonly string[]): Contender =>
    async () => {
      const { seconds, peakRssBytes } = await runCli(context, args);
      return { [row]: { seconds, peakRssBytes } };
    };
  const bars: Record<string, Bar[]> = {};
  for (const [row, { seconds }] of Object.entries(STATEMENTS))
    if (seconds !== undefined) bars[row] = [{ of: MEDIAN, limit: seconds }];
  return {
    case: 'many-ranks',
    title: `questions about ${formatCount(context.ranks)} ranks`,
    baselines: [],
    samples: await alternate(
      [
        contender(START_UP, ['--version']),
        ...Object.entries(STATEMENTS).map(([row, { sql }]) => contender(row, ['sql', sql, '--limit', '0', '--db', db])),
        ...[['diagnose'], ['log', 'memory'], ['log'], ['log', 'iterations']].map((words) =>
          contender(words.at(-1)!, [...words, '--db', db]),
        ),
      ],
      context.repeat,
      context.progress,
    ),
    work: {},
    bars,
    notes: ['whole processes with their start-up, in turn'],
  };
}
