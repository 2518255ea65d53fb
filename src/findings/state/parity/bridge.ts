/**
 * The figures of Megatron Bridge's snapshot scripts, by their definitions, so that a reader can hold our numbers beside
 * theirs. Upstream: NVIDIA-NeMo/Megatron-Bridge `skills/nemo-mbridge-memory-snapshot-analysis/scripts` (`common.py`,
 * `parse_snapshot.py`, `replay_step.py`). Where theirs differ from ours: sizes are requested bytes counted from zero,
 * the baseline subtracts them from the segments' actual bytes, one device is looked at and the segments of all are
 * added up, and a source is the first frame outside a list of path fragments (on stacks with C++ frames: the unwinder).
 */

import type { Frame } from '../../../attribution/frames/call-site.js';
import { pushAll } from '../../../model/lists.js';
import type { BridgeFigures, BridgeReplay, PeerSource } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';
import { type AnnotationMark, readAnnotations } from '../../stacks/annotation-stages.js';
import { readStacks } from '../../stacks/read-stacks.js';
import { firstTracedDevice, type ReplayColumns, readReplay } from './replay-columns.js';

/** Upstream `_INTERNAL_PATH_FRAGMENTS` and `_INTERNAL_FUNC_NAMES`; entries that contain another one are left out. */
const INTERNAL_PATHS = [
  '/torch/',
  '/torch_',
  'torch/nn/modules/module.py',
  'torch/autograd/',
  'torch/amp/',
  'torch/cuda/',
  'torch/distributed/',
  '/cuda/',
  '/hydra/',
  '/python3.',
  '/importlib/',
  '/runpy.py',
];
const INTERNAL_NAMES = new Set(['<module>', '<lambda>', '_call_impl', '_wrapped_call_impl', 'inner']);

/**
 * The scripts' key of a stack: `function@file.py:line` of the first `depth` frames outside torch, joined by ` -> `;
 * torch's own if there are no others.
 */
export function bridgeSource(frames: readonly Frame[], depth = 1): string {
  const keys: string[] = [];
  for (const frame of frames) {
    if (INTERNAL_PATHS.some((part) => frame.filename.includes(part)) || INTERNAL_NAMES.has(frame.name)) continue;
    keys.push(bridgeFrame(frame));
    if (keys.length >= depth) break;
  }
  if (keys.length === 0) pushAll(keys, frames.slice(0, depth).map(bridgeFrame));
  return keys.length === 0 ? '<no frames>' : keys.join(' -> ');
}

function bridgeFrame({ name, filename, line }: Frame): string {
  return `${name}@${filename.slice(filename.lastIndexOf('/') + 1)}:${line}`;
}

/** What is live, by the place of its address. */
interface Live {
  /** Row of the allocation; −1 = not live. */
  readonly row: Int32Array;
  /**
   * Row at which the address came to life: a Python dict keeps that order, and it decides ties between equal sources.
   */
  readonly since: Int32Array;
}

function emptyLive({ places }: ReplayColumns): Live {
  return { row: new Int32Array(places).fill(-1), since: new Int32Array(places) };
}

const copyOf = ({ row, since }: Live): Live => ({ row: row.slice(), since: since.slice() });

/** Rows of the live allocations, in the order of a Python dict. */
function liveRows({ row, since }: Live): number[] {
  const places: number[] = [];
  for (let place = 0; place < row.length; place += 1) if (row[place]! >= 0) places.push(place);
  return places.sort((a, b) => since[a]! - since[b]!).map((place) => row[place]!);
}

interface Replayed {
  readonly peakDelta: number;
  readonly endDelta: number;
  readonly allocCount: number;
  readonly freeCount: number;
  readonly throughput: number;
  readonly unmatched: number;
  readonly unmatchedBytes: number;
  readonly rowsAtPeak: readonly number[];
}

type Within = (row: number) => boolean;
const EVERYTHING: Within = () => true;

/**
 * Upstream `replay_events`, in two passes: the peak, then the live set there. Copying the live set at every new maximum
 * would be quadratic.
 */
function replay(events: ReplayColumns, within: Within, before: Live): Replayed {
  let peakDelta = 0;
  let peakRow = -1;
  let delta = 0;
  let allocCount = 0;
  let freeCount = 0;
  let throughput = 0;
  let unmatched = 0;
  let unmatchedBytes = 0;
  const live = copyOf(before);
  for (let row = 0; row < events.count; row += 1) {
    if (!within(row)) continue;
    const size = events.sizeBytes[row]!;
    if (events.isAlloc[row] === 1) {
      delta += size;
      throughput += size;
      allocCount += 1;
      if (delta > peakDelta) {
        peakDelta = delta;
        peakRow = row;
      }
    } else {
      freeCount += 1;
      const allocated = live.row[events.place[row]!]!;
      delta -= allocated >= 0 ? events.sizeBytes[allocated]! : size;
      if (allocated < 0) {
        unmatched += 1;
        unmatchedBytes += size;
      }
    }
    step(events, row, live);
  }
  const atPeak = copyOf(before);
  for (let row = 0; row <= peakRow; row += 1) if (within(row)) step(events, row, atPeak);
  const rowsAtPeak = liveRows(atPeak);
  return { peakDelta, endDelta: delta, allocCount, freeCount, throughput, unmatched, unmatchedBytes, rowsAtPeak };
}

/** One entry's effect on a live set. */
function step(events: ReplayColumns, row: number, live: Live): void {
  const place = events.place[row]!;
  if (events.isAlloc[row] === 1) {
    if (live.row[place]! < 0) live.since[place] = row;
    live.row[place] = row;
  } else live.row[place] = -1;
}

/** Figures of one snapshot; `depth` is the scripts' `--frame-depth`. */
export async function bridgeFigures(store: Store, snapshotId: number, depth = 1): Promise<BridgeFigures> {
  const header = (await store.one('peak.header_sums', { snapshot_id: snapshotId }))!;
  const segments = {
    count: header.segments,
    total_bytes: header.total_bytes,
    allocated_bytes: header.allocated_bytes,
    active_bytes: header.active_bytes,
    awaiting_free_bytes: header.active_bytes - header.allocated_bytes,
    inactive_bytes: header.total_bytes - header.active_bytes,
  };
  const traced = await firstTracedDevice(store, snapshotId);
  if (traced === null)
    return { segments, device: null, events: 0, baseline: null, full_trace: null, steps: [], throughput: [] };
  const events = await readReplay(store, snapshotId, traced.device);
  const baseline = bridgeBaseline(events, header.active_bytes);
  const frames = await readStacks(store, new Set(events.stackId));
  const sources = new Map<number, string>();
  const sourceOf = (stackId: number): string => {
    let source = sources.get(stackId);
    if (source === undefined) {
      source = bridgeSource(frames.get(stackId) ?? [], depth);
      sources.set(stackId, source);
    }
    return source;
  };
  const asResult = (replayed: Replayed, startDelta: number): BridgeReplay => ({
    peak_delta_bytes: replayed.peakDelta,
    absolute_peak_bytes: baseline.baseline_at_start_bytes + startDelta + replayed.peakDelta,
    end_delta_bytes: replayed.endDelta,
    alloc_count: replayed.allocCount,
    free_count: replayed.freeCount,
    throughput_bytes: replayed.throughput,
    unmatched_frees: replayed.unmatched,
    unmatched_free_bytes: replayed.unmatchedBytes,
    sources_at_peak: bySource(events, replayed.rowsAtPeak, sourceOf),
  });
  const annotations = await readAnnotations(store, snapshotId);
  return {
    segments,
    device: traced.device,
    events: traced.events,
    baseline,
    full_trace: asResult(replay(events, EVERYTHING, emptyLive(events)), 0),
    steps: profilerSteps(annotations).map(({ number, start, end }) => {
      // Upstream: from the start's microsecond to the end's, both included.
      const within: Within = (row) => events.timeUs[row]! >= start && (end === null || events.timeUs[row]! <= end);
      const opening = openedWith(events, start);
      return {
        step: number,
        start_us: start,
        end_us: end,
        ...asResult(replay(events, within, opening.live), opening.delta),
        annotations: startsWithin(annotations, start, end),
      };
    }),
    throughput: bySource(events, allocations(events), sourceOf),
  };
}

function* allocations(events: ReplayColumns): Generator<number> {
  for (let row = 0; row < events.count; row += 1) if (events.isAlloc[row] === 1) yield row;
}

/** In descending order of bytes, equal ones in order of first appearance. */
function bySource(events: ReplayColumns, rows: Iterable<number>, sourceOf: (stackId: number) => string): PeerSource[] {
  const groups = new Map<string, { bytes: number; count: number }>();
  for (const row of rows) {
    const source = sourceOf(events.stackId[row]!);
    const bytes = events.sizeBytes[row]!;
    const group = groups.get(source);
    if (group === undefined) groups.set(source, { bytes, count: 1 });
    else {
      group.bytes += bytes;
      group.count += 1;
    }
  }
  return [...groups].map(([source, group]) => ({ source, ...group })).sort((a, b) => b.bytes - a.bytes);
}

/** Upstream `compute_baseline`. */
function bridgeBaseline(events: ReplayColumns, segmentsActive: number): NonNullable<BridgeFigures['baseline']> {
  const live = emptyLive(events);
  let freed = 0;
  for (let row = 0; row < events.count; row += 1) {
    if (events.isAlloc[row] === 0 && live.row[events.place[row]!]! < 0) freed += events.sizeBytes[row]!;
    step(events, row, live);
  }
  const stillLive = liveRows(live).reduce((sum, row) => sum + events.sizeBytes[row]!, 0);
  return {
    baseline_at_start_bytes: segmentsActive - stillLive + freed,
    segments_active_bytes: segmentsActive,
    pre_existing_freed_bytes: freed,
    profiling_still_live_bytes: stillLive,
  };
}

/** Upstream `live_set_before` and `compute_step_start_deltas`: what a step opens with. */
function openedWith(events: ReplayColumns, start: number): { readonly live: Live; readonly delta: number } {
  const live = emptyLive(events);
  let delta = 0;
  for (let row = 0; row < events.count && events.timeUs[row]! < start; row += 1) {
    delta += events.isAlloc[row] === 1 ? events.sizeBytes[row]! : -events.sizeBytes[row]!;
    step(events, row, live);
  }
  return { live, delta };
}

/**
 * Upstream `get_profiler_steps`: `ProfilerStep#N` on any device, later marks of a number replace earlier ones; a step
 * without start is left out.
 */
function profilerSteps(annotations: readonly AnnotationMark[]) {
  const steps = new Map<number, { start: number | null; end: number | null }>();
  for (const { name, stage, time_us } of annotations) {
    const digits = name.includes('ProfilerStep#') ? name.split('#')[1] : undefined;
    if (digits === undefined || !/^\s*[+-]?\d+\s*$/.test(digits)) continue;
    const number = Number(digits);
    const marks = steps.get(number) ?? { start: null, end: null };
    steps.set(number, marks);
    if (stage === 'START') marks.start = time_us;
    else if (stage === 'END' && (time_us ?? 0) > 0) marks.end = time_us;
  }
  return [...steps]
    .sort((a, b) => a[0] - b[0])
    .flatMap(([number, { start, end }]) => (start === null || start === 0 ? [] : [{ number, start, end }]));
}

function startsWithin(
  annotations: readonly AnnotationMark[],
  start: number,
  end: number | null,
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { name, stage, time_us } of annotations) {
    const time = time_us ?? 0;
    if (stage !== 'START' || name.startsWith('ProfilerStep') || time < start || (end !== null && time > end)) continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  // A record of its own prototype: a scope may be called `__proto__`.
  return Object.fromEntries(counts);
}
