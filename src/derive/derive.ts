/**
 * What is concluded from the rows of runs, once, when they have been ingested: an ordered list of steps, each the only
 * writer of its tables. Verbs read these tables. The same list fills TEMP tables of the same names for a store that
 * cannot be written, and for what a user assumes for one answer.
 */
import { DERIVE_RULES } from '../model/derived-tables.js';
import type { Store } from '../store/store.js';
import type { RunOfRanks } from './attribution/blocks/run-figures.js';
import { writeFacts } from './verdict/write-facts.js';
import { writeReplays } from './verdict/write-replays.js';

export interface DeriveOptions {
  /** The device's total as the user gives it, where no message prints it. */
  readonly capacityBytes?: number | undefined;
}

interface Step {
  /** Written by this step alone. */
  readonly tables: readonly string[];
  readonly run: (store: Store, runIds: readonly number[], options: DeriveOptions) => Promise<void>;
}

/** A table of `queries/library/`, by its rule. */
const ruled = (table: string): Step => ({
  tables: [table],
  run: (store, runIds) => store.transaction(() => store.deriveTable(table, runIds)),
});

/** What decides between causes, from the facts. */
const CAUSES = ['oom_sum', 'oom_part', 'cause_test'].map(ruled);

/** Later steps read the tables of earlier ones. */
export const STEPS: readonly Step[] = [
  { tables: ['label', 'labelled_device', 'block_label_staging'], run: labelRuns },
  ruled('peak_component'),
  ruled('peak_site'),
  {
    tables: [
      ...['judged_run', 'judged_rank', 'judged_trace', 'oom_step', 'oom_keeping_site', 'judged_lines', 'oom_fact'],
    ],
    run: writeFacts,
  },
  ...CAUSES,
  { tables: ['oom_replay', 'oom_what_if'], run: writeReplays },
  { tables: ['verdict', 'evidence', 'diagnosis'], run: conclude },
  ruled('oom'),
  ruled('rank_summary'),
  ruled('run_summary'),
];

/** Tables that a TEMP one can replace: a label is a column of the blocks, which are too many to copy. */
const CONCLUDED = STEPS.slice(1).flatMap(({ tables }) => tables);

/** Before anything of runs is written anew: no conclusion outlives what it was drawn from. In a transaction. */
export async function forgetRuns(store: Store, runIds: readonly number[]): Promise<void> {
  for (const table of CONCLUDED) await store.run(`DELETE FROM ${table} WHERE run_id IN (${runIds.join(', ')})`);
}

/** The tests of causes on facts that are there. */
export async function testCauses(store: Store, runIds: readonly number[]): Promise<void> {
  for (const { run } of CAUSES) await run(store, runIds, {});
}

/** Derives everything about some runs anew. */
export async function derive(store: Store, runIds: readonly number[], options: DeriveOptions = {}): Promise<void> {
  if (runIds.length === 0) return;
  for (const { run } of STEPS) await run(store, runIds, options);
  await store.run(`UPDATE judged_run SET rules = ${DERIVE_RULES} WHERE run_id IN (${runIds.join(', ')})`);
}

/** Derives runs into TEMP tables: questions of this process are answered by them until the store is closed. */
export async function deriveTemporarily(
  store: Store,
  runIds: readonly number[],
  options: DeriveOptions = {},
): Promise<void> {
  for (const table of CONCLUDED) await store.shadow(table);
  for (const { run } of STEPS.slice(1)) await run(store, runIds, options);
}

/** What labels of a run's snapshots are made with. */
export async function readFigures(store: Store, runId: number): Promise<RunOfRanks> {
  const { readRunFigures } = await import('./attribution/blocks/run-figures.js');
  return readRunFigures(store, runId);
}
export type { RunOfRanks };

async function labelRuns(store: Store, runIds: readonly number[]): Promise<void> {
  for (const runId of runIds) {
    if ((await store.one('attribution.devices', { run_id: runId })) === undefined) continue;
    const { labelRun } = await import('./attribution/label-run.js');
    await labelRun(store, runId);
  }
}

async function conclude(store: Store, runIds: readonly number[], { capacityBytes }: DeriveOptions): Promise<void> {
  const { writeDiagnosis } = await import('./write-diagnosis.js');
  for (const runId of runIds) await writeDiagnosis(store, runId, capacityBytes);
}
