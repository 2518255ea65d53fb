/** Training steps as ranges of trace entries; ingest finds them (`src/ingest/derive/steps.ts`). */
import type { StepPartial, StepRange } from '../../model/results/timeline.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { type DeviceHistory, deviceHistory } from './device-history.js';

export type Steps = DeviceHistory['steps'] & {
  /** In order, disjoint, each with at least one entry. */
  readonly steps: readonly StepRange[];
};

export async function readSteps(store: Store, snapshotId: number, device: number): Promise<Steps> {
  return (await stepsOf(store, [await deviceHistory(store, snapshotId, device)]))[0]!;
}

/** Of each of many devices. */
export async function stepsOf(store: Store, histories: readonly DeviceHistory[]): Promise<Steps[]> {
  const marked = histories.filter(({ steps }) => steps.origin !== null);
  const ids = marked.map(({ trace }) => ({ snapshot_id: trace.snapshotId, device: trace.device }));
  const rows = await store.allOf('state.steps', ids);
  const rowsOf = new Map(marked.map((history, i) => [history, rows[i]!]));
  return histories.map((history) => ({ ...history.steps, steps: (rowsOf.get(history) ?? []).flatMap(rangeOf) }));
}

function rangeOf(row: QueryRow<'state.steps'>): StepRange[] {
  const { step, first_seq, last_seq, occurrence, start_us, end_us } = row;
  if (first_seq === null || last_seq === null || occurrence === null) return [];
  return [{ step, occurrence, first_seq, last_seq, start_us, end_us, partial: row.partial as StepPartial | null }];
}

/** Boundaries of training steps in ascending µs. */
export interface StepBoundaries {
  readonly times: Float64Array;
  /** What they were taken from: `ProfilerStep#N`, or the names of the optimizers' steps. */
  readonly source: string;
}

/**
 * Where steps begin and end: those of the profiler at their starts, the last also at its end; those of an optimizer at
 * its ends. Boundaries from before the first entry count: they show when the step of that entry began.
 */
export async function stepBoundaries(
  store: Store,
  snapshotId: number,
  device: number,
): Promise<StepBoundaries | undefined> {
  const { steps } = await deviceHistory(store, snapshotId, device);
  if (steps.origin === null) return undefined;
  const rows = await store.all('state.steps', { snapshot_id: snapshotId, device });
  const marks = rows.map(({ start_us, end_us }) => (steps.origin === 'profiler_step' ? start_us : end_us));
  if (steps.origin === 'profiler_step') marks.push(rows.at(-1)?.end_us ?? null);
  const times = [...new Set(marks)].filter((time) => time !== null).sort((a, b) => a - b);
  return times.length === 0 ? undefined : { times: Float64Array.from(times), source: steps.annotations.join(', ') };
}
