/**
 * What the trace of one device shows of the steps before its OOM: their ends and peaks, what each leaves over, and the
 * activity.
 */
import type { Place } from '../../model/place.js';
import { MIB } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import { activityOf } from '../stacks/activity.js';
import { readStacks } from '../stacks/read-stacks.js';
import type { KeepingSite, PassedStep, TraceFacts } from './facts.js';
import { type PassedSpan, readStepClock } from './step-clock.js';

/** Copies below this size match by accident: norms, scalars, small biases. */
const LEAST_COPY_BYTES = MIB;

export interface OomMoment {
  readonly device: number;
  readonly seq: number;
  /** Of the failing request; null where none was recorded. */
  readonly stackId: number | null;
  /** The trace misses nothing before its first entry. */
  readonly startsEmpty: boolean;
  readonly source: Place;
}

export async function readTraceFacts(store: Store, snapshotId: number, oom: OomMoment): Promise<TraceFacts> {
  const { device, stackId, startsEmpty } = oom;
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
  return {
    steps: clock === null ? null : await passedSteps(store, { snapshot_id: snapshotId, device }, spans, startsEmpty),
    stepsBy: clock?.by ?? null,
    whole: startsEmpty,
    hasEarlierStates: live.some((row) => row.older_blocks > 0 && activityAt(row.stack_id) === 'optimizer_init'),
    keeping: await keepingSites(store, before, spans, startsEmpty),
    repeatedBytes: repeated?.bytes ?? 0,
    activity,
    activityBytes: ownStacks.reduce(
      (sum, { bytes, step_bytes }) => sum + (isCheckpoint || clock === null ? bytes : step_bytes),
      0,
    ),
    copiedBytes: copied?.bytes ?? 0,
    source: oom.source,
  };
}

interface DeviceId {
  readonly snapshot_id: number;
  readonly device: number;
}

/** The first step of a process is its warm-up: the optimizer's states are born in it. */
function isSettled(spans: readonly PassedSpan[], i: number, startsEmpty: boolean): boolean {
  return spans[i]!.whole && (i > 0 || !startsEmpty);
}

async function passedSteps(
  store: Store,
  id: DeviceId,
  spans: readonly PassedSpan[],
  startsEmpty: boolean,
): Promise<PassedStep[]> {
  if (spans.length === 0) return [];
  const totals = await store.all('state.range_totals', { ...id, ...rangesOf(spans) });
  const of = new Map(totals.map((row) => [row.nth, row]));
  return spans.map((_, i) => ({
    settled: isSettled(spans, i, startsEmpty),
    peakBytes: Number(of.get(i)?.peak_active_bytes ?? 0),
    endBytes: Number(of.get(i)?.end_active_bytes ?? 0),
  }));
}

/** Sites that left something over in nearly every settled step, about as much in each; see the query. */
export async function keepingSites(
  store: Store,
  state: DeviceId & { readonly at_seq: number },
  spans: readonly PassedSpan[],
  startsEmpty: boolean,
): Promise<KeepingSite[]> {
  const settled = spans.map((_, i) => isSettled(spans, i, startsEmpty));
  if (!settled.includes(true)) return [];
  const rows = await store.all('verdict.keeping_sites', {
    ...state,
    ...rangesOf(spans),
    settled: settled.map(Number).join(','),
  });
  return rows.map(({ bytes_per_step: bytesPerStep, ...row }) => ({ ...row, bytesPerStep }));
}

function rangesOf(spans: readonly PassedSpan[]) {
  return {
    firsts: spans.map(({ firstSeq }) => firstSeq).join(','),
    lasts: spans.map(({ lastSeq }) => lastSeq).join(','),
  };
}
