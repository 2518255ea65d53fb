/**
 * The figures of Megatron Bridge's snapshot scripts, by their definitions, so that a reader can hold our numbers beside
 * theirs. Upstream: NVIDIA-NeMo/Megatron-Bridge `skills/nemo-mbridge-memory-snapshot-analysis/scripts` (`common.py`,
 * `parse_snapshot.py`, `replay_step.py`). Where theirs differ from ours: sizes are requested bytes counted from zero,
 * the baseline subtracts them from the segments' actual bytes, one device is looked at and the segments of all are
 * added up, and a source is the first frame outside a list of path fragments (on stacks with C++ frames: the unwinder).
 */

import type { Frame } from '../../../attribution/frames/call-site.js';
import { readStacks } from '../../../derive/stacks/read-stacks.js';
import { getOrAdd } from '../../../model/group-by.js';
import { pushAll } from '../../../model/lists.js';
import type { BridgeFigures, BridgeReplay, PeerSource } from '../../../model/results/peak.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';
import { type AnnotationMark, readAnnotations } from '../../stacks/annotation-stages.js';

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

/** The peers look at the first device whose trace has an entry; null if none has. */
export async function firstTracedDevice(store: Store, snapshotId: number) {
  const devices = await store.all('snapshot.devices', { snapshot_id: snapshotId });
  const first = devices.find((device) => (device.events ?? 0) > 0);
  return first === undefined ? null : { device: first.device, events: first.events ?? 0 };
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
  const id = { snapshot_id: snapshotId, device: traced.device };
  const annotations = await readAnnotations(store, snapshotId);
  const whole = await store.all('peak.bridge_replay', id);
  // Upstream `compute_baseline`.
  const freed = Number(whole[0]!.unmatched_bytes);
  const stillLive = Number(whole[0]!.end_live_bytes);
  const baseline = header.active_bytes - stillLive + freed;
  const allocated = await store.all('peak.allocated_by_stack', id);
  const frames = await readStacks(
    store,
    allocated.map((row) => row.stack_id ?? -1),
  );
  /** In descending order of bytes, equal ones in order of first appearance. */
  const bySource = (rows: readonly StackBytes[]): PeerSource[] => {
    const groups = new Map<string, PeerSource>();
    for (const row of rows) {
      if (row.bytes === null) continue;
      const source = bridgeSource(frames.get(row.stack_id ?? -1) ?? [], depth);
      const { bytes = 0, count = 0 } = groups.get(source) ?? {};
      groups.set(source, { source, bytes: bytes + row.bytes, count: count + row.count });
    }
    return [...groups.values()].sort((a, b) => b.bytes - a.bytes);
  };
  const asResult = (rows: typeof whole): BridgeReplay => {
    const { allocs, frees, unmatched_frees, ...figures } = rows[0]!;
    return {
      peak_delta_bytes: Number(figures.peak_delta_bytes),
      absolute_peak_bytes: baseline + Number(figures.start_delta_bytes) + Number(figures.peak_delta_bytes),
      end_delta_bytes: Number(figures.end_delta_bytes),
      alloc_count: allocs,
      free_count: frees,
      throughput_bytes: Number(figures.allocated_bytes),
      unmatched_frees,
      unmatched_free_bytes: Number(figures.unmatched_bytes),
      sources_at_peak: bySource(rows),
    };
  };
  const steps: BridgeFigures['steps'][number][] = [];
  for (const { number, start, end } of profilerSteps(annotations))
    steps.push({
      step: number,
      start_us: start,
      end_us: end,
      ...asResult(await store.all('peak.bridge_replay', { ...id, start_us: start, end_us: end })),
      annotations: startsWithin(annotations, start, end),
    });
  return {
    segments,
    device: traced.device,
    events: traced.events,
    baseline: {
      baseline_at_start_bytes: baseline,
      segments_active_bytes: header.active_bytes,
      pre_existing_freed_bytes: freed,
      profiling_still_live_bytes: stillLive,
    },
    full_trace: asResult(whole),
    steps,
    throughput: bySource(allocated),
  };
}

type StackBytes = Pick<QueryRow<'peak.bridge_replay'>, 'stack_id' | 'bytes' | 'count'>;

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
    const marks = getOrAdd(steps, number, () => ({ start: null, end: null }));
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
