/**
 * What the trace of one device shows of the steps before its OOM: their ends and peaks, what each leaves over, and the
 * activity.
 */
import type { AllocatorState } from '../../allocator/walk/allocator-state.js';
import { MIB } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import { activityOf } from '../stacks/activity.js';
import { NO_FRAMES, NO_STACK, readStacks, siteOf } from '../stacks/read-stacks.js';
import { deviceHistory } from '../trace/device-history.js';
import type { KeepingSite, PassedStep, TraceFacts } from './facts.js';
import { type PassedSpan, readStepClock } from './step-clock.js';
import {
  FEWEST_KEEPING_STEPS,
  FEWEST_REPEATED_BLOCKS,
  KEEPING_STEPS_SHARE,
  KEPT_BEFORE_FACTOR,
  LARGEST_KEPT_FACTOR,
} from './thresholds.js';

/** Copies below this size match by accident: norms, scalars, small biases. */
const LEAST_COPY_BYTES = MIB;

export interface OomMoment {
  readonly device: number;
  readonly seq: number;
  /** Of the failing request; −1 where none was recorded. */
  readonly stackId: number;
  readonly state: AllocatorState;
  readonly source: string;
}

/** One walk over the trace up to the OOM where steps are marked, none where they are not. */
export async function readTraceFacts(store: Store, snapshotId: number, oom: OomMoment): Promise<TraceFacts> {
  const { blocks } = oom.state;
  const history = await deviceHistory(store, snapshotId, oom.device);
  const clock = await readStepClock(store, snapshotId, oom.device, oom.seq, history.startsEmpty);
  const stacks = await readStacks(store, [...blocks.stackId.subarray(0, blocks.count), oom.stackId]);
  const spans = clock?.spans ?? [];
  const failingFrom = (spans.at(-1)?.lastSeq ?? -1) + 1;
  const activities = new Map([...stacks].map(([id, frames]) => [id, activityOf(frames)]));
  const activity = oom.stackId < 0 ? null : (activities.get(oom.stackId) ?? null);
  const isCheckpoint = activity === 'checkpoint_save' || activity === 'checkpoint_load';
  const ownRows: number[] = [];
  let hasEarlierStates = false;
  for (let row = 0; row < blocks.count; row += 1) {
    const of = activities.get(blocks.stackId[row]!) ?? null;
    if (of === 'optimizer_init' && blocks.allocSeq[row]! < 0) hasEarlierStates = true;
    if (activity === null || of !== activity) continue;
    if (isCheckpoint || clock === null || blocks.allocSeq[row]! >= failingFrom) ownRows.push(row);
  }
  const sum = (rows: readonly number[]): number => rows.reduce((total, row) => total + blocks.sizeBytes[row]!, 0);
  return {
    steps: clock === null ? null : await passedSteps(store, oom, spans, history),
    stepsBy: clock?.by ?? null,
    whole: history.startsEmpty,
    hasEarlierStates,
    keeping: keepingSites(oom.state, spans, history.startsEmpty, (stackId) => siteOf(stackId, stacks)),
    repeatedBytes: repeatedBytes(oom.state, (stackId) => siteOf(stackId, stacks)),
    activity,
    activityBytes: sum(ownRows),
    copiedBytes: isCheckpoint ? sum(copies(oom.state, ownRows)) : 0,
    source: oom.source,
  };
}

type History = Awaited<ReturnType<typeof deviceHistory>>;

/** The first step of a process is its warm-up: the optimizer's states are born in it. */
function isSettled(spans: readonly PassedSpan[], i: number, startsEmpty: boolean): boolean {
  return spans[i]!.whole && (i > 0 || !startsEmpty);
}

async function passedSteps(
  store: Store,
  oom: OomMoment,
  spans: readonly PassedSpan[],
  history: History,
): Promise<PassedStep[]> {
  if (spans.length === 0) return [];
  const totals = await store.all('state.range_totals', {
    snapshot_id: history.trace.snapshotId,
    device: oom.device,
    firsts: spans.map(({ firstSeq }) => firstSeq).join(','),
    lasts: spans.map(({ lastSeq }) => lastSeq).join(','),
  });
  const of = new Map(totals.map((row) => [row.nth, row]));
  return spans.map((_, i) => ({
    settled: isSettled(spans, i, history.startsEmpty),
    peakBytes: Number(of.get(i)?.peak_active_bytes ?? 0),
    endBytes: Number(of.get(i)?.end_active_bytes ?? 0),
  }));
}

/** What one site has live at the OOM, by the step it was born in. */
interface Births {
  readonly site: string;
  readonly bySpan: Float64Array;
  bytes: number;
  blocks: number;
  /** Born before the spans counted. */
  earlier: number;
}

/**
 * Sites that left something over in nearly every settled step, about as much in each. This excludes parameters and
 * optimizer states (never freed either, but allocated in one burst, in or before the first step), what is in flight in
 * the failing step, and buffers allocated late, once.
 */
export function keepingSites(
  state: AllocatorState,
  spans: readonly PassedSpan[],
  startsEmpty: boolean,
  siteOfStack: (stackId: number) => string,
): KeepingSite[] {
  const settled = spans.flatMap((_, i) => (isSettled(spans, i, startsEmpty) ? [i] : []));
  if (settled.length === 0) return [];
  const lastSeq = spans.at(-1)!.lastSeq;
  const { blocks } = state;
  const names = new Map<number, string>();
  const bySite = new Map<string, Births>();
  for (let row = 0; row < blocks.count; row += 1) {
    const seq = blocks.allocSeq[row]!;
    if (seq > lastSeq) continue;
    const stackId = blocks.stackId[row]!;
    let site = names.get(stackId);
    if (site === undefined) {
      site = siteOfStack(stackId);
      names.set(stackId, site);
    }
    // Without a frame, two blocks cannot be attributed to one place.
    if (site === NO_FRAMES || site === NO_STACK) continue;
    let births = bySite.get(site);
    if (births === undefined) {
      births = { site, bySpan: new Float64Array(spans.length), bytes: 0, blocks: 0, earlier: 0 };
      bySite.set(site, births);
    }
    const size = blocks.sizeBytes[row]!;
    births.bytes += size;
    births.blocks += 1;
    const span = seq < 0 ? -1 : spanOf(spans, seq);
    if (span >= 0) births.bySpan[span]! += size;
    if (span < 0 || !settled.includes(span)) births.earlier += size;
  }
  return [...bySite.values()]
    .flatMap((births) => keeper(births, settled))
    .sort((a, b) => b.bytes - a.bytes || (a.site < b.site ? -1 : 1));
}

function keeper(births: Births, settled: readonly number[]): KeepingSite[] {
  const kept = settled.map((i) => births.bySpan[i]!).filter((bytes) => bytes > 0);
  if (kept.length === 0) return [];
  const sorted = [...kept].sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1]!;
  const regular =
    settled.length >= FEWEST_KEEPING_STEPS
      ? kept.length >= Math.max(FEWEST_KEEPING_STEPS, Math.ceil(KEEPING_STEPS_SHARE * settled.length))
      : births.earlier >= KEPT_BEFORE_FACTOR * median;
  if (!regular || sorted.at(-1)! > LARGEST_KEPT_FACTOR * median) return [];
  const { site, bytes, blocks } = births;
  return [{ site, bytes, blocks, steps: kept.length, bytesPerStep: median }];
}

/** See {@link TraceFacts.repeatedBytes}; blocks without frames could be of any one site, so they count as one. */
function repeatedBytes({ blocks }: AllocatorState, siteOfStack: (stackId: number) => string): number {
  const names = new Map<number, string>();
  const bySite = new Map<string, { bytes: number; count: number }>();
  for (let row = 0; row < blocks.count; row += 1) {
    const stackId = blocks.stackId[row]!;
    let site = names.get(stackId);
    if (site === undefined) {
      site = siteOfStack(stackId);
      names.set(stackId, site);
    }
    const group = bySite.get(site) ?? { bytes: 0, count: 0 };
    bySite.set(site, { bytes: group.bytes + blocks.sizeBytes[row]!, count: group.count + 1 });
  }
  return [...bySite.values()].reduce(
    (total, { bytes, count }) => total + (count >= FEWEST_REPEATED_BLOCKS ? bytes : 0),
    0,
  );
}

/** The span that contains an entry, −1 for none. */
function spanOf(spans: readonly PassedSpan[], seq: number): number {
  let low = 0;
  let high = spans.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const span = spans[middle]!;
    if (seq < span.firstSeq) high = middle - 1;
    else if (seq > span.lastSeq) low = middle + 1;
    else return middle;
  }
  return -1;
}

/** Those of `rows` that are as large as another live block, each of which serves as the original of one copy only. */
export function copies({ blocks }: AllocatorState, rows: readonly number[]): number[] {
  const chosen = new Set(rows);
  const originals = new Map<number, number>();
  for (let row = 0; row < blocks.count; row += 1) {
    const size = blocks.requestedBytes[row]!;
    if (chosen.has(row) || size < LEAST_COPY_BYTES) continue;
    originals.set(size, (originals.get(size) ?? 0) + 1);
  }
  return rows.filter((row) => {
    const size = blocks.requestedBytes[row]!;
    const left = originals.get(size) ?? 0;
    if (left === 0) return false;
    originals.set(size, left - 1);
    return true;
  });
}
