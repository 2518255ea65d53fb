/**
 * What the trace of one device shows of the steps before its OOM: their ends and peaks, what each leaves over, and the
 * activity.
 */
import { MIB } from '../../model/units.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { SqlValue } from '../../store/to-duckdb.js';
import { activityOf } from '../stacks/activity.js';
import { weightsActivity } from '../stacks/failing-activity.js';
import { readStacks } from '../stacks/read-stacks.js';
import { type PassedSpan, readStepClock } from './step-clock.js';

/** Copies below this size match by accident: norms, scalars, small biases. */
const LEAST_COPY_BYTES = MIB;

/** Rows of `judged_trace`, `oom_step` and `oom_keeping_site`. */
export interface TraceRows {
  readonly trace: Readonly<Record<string, SqlValue>>;
  readonly steps: readonly Readonly<Record<string, SqlValue>>[];
  readonly keeping: readonly Readonly<Record<string, SqlValue>>[];
}

export async function readTraceFacts(store: Store, oom: QueryRow<'verdict.traced_ooms'>): Promise<TraceRows> {
  const { snapshot_id: snapshotId, device, stack_id: stackId, starts_empty: startsEmpty } = oom;
  const key = { run_id: oom.run_id, failure: oom.failure };
  const before = { snapshot_id: snapshotId, device, at_seq: oom.seq - 1 };
  const clock = await readStepClock(store, snapshotId, device, oom.seq, startsEmpty);
  const spans = clock?.spans ?? [];
  const live = await store.all('verdict.live_stacks', { ...before, from_seq: (spans.at(-1)?.lastSeq ?? -1) + 1 });
  const stacks = await readStacks(store, [...live.map(({ stack_id: id }) => id ?? -1), stackId ?? -1]);
  const activities = new Map([...stacks].map(([id, frames]) => [id, activityOf(frames)]));
  const activityAt = (id: number | null) => (id === null ? null : (activities.get(id) ?? null));
  const activity = activityAt(stackId);
  const isCheckpoint = activity === 'checkpoint_save' || activity === 'checkpoint_load';
  const ownStacks = activity === null ? [] : live.filter(({ stack_id: id }) => activityAt(id) === activity);
  const repeated = await store.one('verdict.repeated_bytes', before);
  const copied =
    isCheckpoint && ownStacks.length > 0
      ? await store.one('verdict.copied_bytes', {
          ...before,
          stack_ids: ownStacks.map(({ stack_id: id }) => id).join(','),
          least_bytes: LEAST_COPY_BYTES,
        })
      : undefined;
  const steps = await passedSteps(store, { snapshot_id: snapshotId, device }, spans, startsEmpty);
  const projection = await projectStep(store, { snapshot_id: snapshotId, device }, spans, steps, startsEmpty, oom.seq);
  const keeping = await keepingSites(store, before, spans, startsEmpty);
  return {
    trace: {
      ...key,
      steps_by: clock?.by ?? null,
      is_whole: startsEmpty,
      has_earlier_states: live.some((row) => row.older_blocks > 0 && activityAt(row.stack_id) === 'optimizer_init'),
      repeated_bytes: repeated?.bytes ?? 0,
      activity: activity ?? weightsActivity((stackId === null ? undefined : stacks.get(stackId)) ?? []),
      activity_bytes: ownStacks.reduce(
        (sum, { bytes, step_bytes }) => sum + (isCheckpoint || clock === null ? bytes : step_bytes),
        0,
      ),
      copied_bytes: copied?.bytes ?? 0,
      ...projection,
    },
    steps: steps.map((step, i) => ({ ...key, step: i, ...step })),
    keeping: keeping.map((site) => ({ ...key, ...site })),
  };
}

interface DeviceId {
  readonly snapshot_id: number;
  readonly device: number;
}

interface PassedTotals {
  readonly is_settled: boolean;
  readonly peak_bytes: number;
  readonly end_bytes: number;
}

type Projection = Readonly<Record<'projected_bytes' | 'alike_share', number | null>>;

/** The first step of a process is its warm-up: the optimizer's states are born in it. */
function isSettled(spans: readonly PassedSpan[], i: number, startsEmpty: boolean): boolean {
  return spans[i]!.whole && (i > 0 || !startsEmpty);
}

export async function passedSteps(
  store: Store,
  id: DeviceId,
  spans: readonly PassedSpan[],
  startsEmpty: boolean,
): Promise<PassedTotals[]> {
  if (spans.length === 0) return [];
  const totals = await store.all('state.range_totals', { ...id, ...rangesOf(spans) });
  const of = new Map(totals.map((row) => [row.nth, row]));
  return spans.map((_, i) => ({
    is_settled: isSettled(spans, i, startsEmpty),
    peak_bytes: Number(of.get(i)?.peak_active_bytes ?? 0),
    end_bytes: Number(of.get(i)?.end_active_bytes ?? 0),
  }));
}

/**
 * Live memory at the peak of a step like the last whole one, from what is live as the failing step begins. The first
 * step of a process begins with the setup and ends with the birth of the optimizer's states: of it, what its forward
 * and backward reached and what came after them to stay; the optimizer's own peak as it was.
 */
export async function projectStep(
  store: Store,
  id: DeviceId,
  spans: readonly PassedSpan[],
  steps: readonly PassedTotals[],
  startsEmpty: boolean,
  oomSeq: number,
): Promise<Projection> {
  const last = spans.findLastIndex(({ whole }) => whole);
  const i = last < 0 && startsEmpty && spans.length > 0 ? 0 : last;
  if (i < 0) return { projected_bytes: null, alike_share: null };
  const { firstSeq, lastSeq } = spans[i]!;
  const span = { ...id, first_seq: firstSeq, last_seq: lastSeq };
  const alike = { ...span, from_seq: spans.at(-1)!.lastSeq + 1, oom_seq: oomSeq };
  const share = (await store.one('verdict.alike_share', alike))?.alike_share ?? null;
  const now = steps.at(-1)!.end_bytes;
  if (i === 0 && startsEmpty)
    return { projected_bytes: await firstStep(store, id, spans[0]!, now), alike_share: share };
  const before = i > 0 ? steps[i - 1]!.end_bytes : await activeBefore(store, id, firstSeq);
  return { projected_bytes: steps[i]!.peak_bytes - before + now, alike_share: share };
}

async function activeBefore(store: Store, id: DeviceId, seq: number): Promise<number> {
  const [range] = await store.all('state.range_totals', { ...id, firsts: '0', lasts: String(seq - 1) });
  return Number(range?.end_active_bytes ?? 0);
}

async function firstStep(store: Store, id: DeviceId, { firstSeq, lastSeq }: PassedSpan, now: number): Promise<number> {
  const ends = await store.all('verdict.optimizer_allocations', { ...id, before_seq: lastSeq + 1 });
  const optimizer = ends[0]?.seq ?? lastSeq + 1;
  const parts = [
    { firstSeq, lastSeq: optimizer - 1 },
    { firstSeq: optimizer, lastSeq },
  ].filter((part) => part.firstSeq <= part.lastSeq);
  const [before, after] = await store.all('state.range_totals', { ...id, ...rangesOf(parts) });
  if (before === undefined) return now;
  return Math.max(
    Number(before.peak_active_bytes) + now - Number(before.end_active_bytes),
    Number(after?.peak_active_bytes ?? 0),
  );
}

/** Sites that left something over in nearly every settled step, about as much in each; see the query. */
export async function keepingSites(
  store: Store,
  state: DeviceId & { readonly at_seq: number },
  spans: readonly PassedSpan[],
  startsEmpty: boolean,
): Promise<QueryRow<'verdict.keeping_sites'>[]> {
  const settled = spans.map((_, i) => isSettled(spans, i, startsEmpty));
  if (!settled.includes(true)) return [];
  return store.all('verdict.keeping_sites', {
    ...state,
    ...rangesOf(spans),
    settled: settled.map(Number).join(','),
  });
}

function rangesOf(spans: readonly Omit<PassedSpan, 'whole'>[]) {
  return {
    firsts: spans.map(({ firstSeq }) => firstSeq).join(','),
    lasts: spans.map(({ lastSeq }) => lastSeq).join(','),
  };
}
