/**
 * What the trace of one device shows of the steps before its OOM: their ends and peaks, what each leaves over, and the
 * activity.
 */
import { pick } from '../../model/pick.js';
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
  const { steps, projection } = await passedSteps(
    store,
    { snapshot_id: snapshotId, device },
    spans,
    startsEmpty,
    oom.seq,
  );
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

/** Spans as parameters of queries. */
const rangesOf = (spans: readonly PassedSpan[], startsEmpty: boolean) => ({
  firsts: spans.map(({ firstSeq }) => firstSeq).join(','),
  lasts: spans.map(({ lastSeq }) => lastSeq).join(','),
  wholes: spans.map(({ whole }) => Number(whole)).join(','),
  starts_empty: startsEmpty,
});

/** The steps before an OOM at `oomSeq`, and the peak that a step like the last whole one would have reached. */
export async function passedSteps(
  store: Store,
  id: { readonly snapshot_id: number; readonly device: number },
  spans: readonly PassedSpan[],
  startsEmpty: boolean,
  oomSeq: number,
) {
  const ranges = { ...id, ...rangesOf(spans, startsEmpty), before_seq: oomSeq };
  const steps = spans.length === 0 ? [] : await store.all('verdict.passed_steps', ranges);
  const { projected_bytes = null, first_seq = null, last_seq = null } = steps[0] ?? {};
  const span = { ...id, from_seq: (spans.at(-1)?.lastSeq ?? -1) + 1, oom_seq: oomSeq };
  const alike =
    first_seq === null || last_seq === null
      ? undefined
      : await store.one('verdict.alike_share', { ...span, first_seq, last_seq });
  return {
    steps: steps.map((step) => pick(step, ['is_settled', 'peak_bytes', 'end_bytes'])),
    projection: { projected_bytes, alike_share: alike?.alike_share ?? null },
  };
}

/** Sites that left something over in nearly every settled step, about as much in each; see the query. */
export async function keepingSites(
  store: Store,
  state: { readonly snapshot_id: number; readonly device: number; readonly at_seq: number },
  spans: readonly PassedSpan[],
  startsEmpty: boolean,
): Promise<QueryRow<'verdict.keeping_sites'>[]> {
  return spans.length === 0 ? [] : store.all('verdict.keeping_sites', { ...state, ...rangesOf(spans, startsEmpty) });
}
