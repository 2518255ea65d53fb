/**
 * Training steps as ranges of trace entries. The torch profiler brackets each step with a `ProfilerStep#N` annotation
 * (`torch/profiler/profiler.py`); without it there are still the annotations that every `torch.optim.Optimizer` leaves
 * (`Optimizer.step#Class.step`, `torch/optim/optimizer.py`, `profile_hook_step`), of which the ends bound the steps.
 * Both are in a snapshot only if its recording hooked the thread (torch 2.6 and newer).
 */
import type { StepOrigin, StepPartial, StepRange } from '../../model/results/timeline.js';
import type { Store } from '../../store/store.js';
import { type AnnotatedRange, pairAnnotations } from './pair-annotations.js';

export interface Steps {
  /** Null: without annotations of steps. */
  readonly origin: StepOrigin | null;
  /** In order, disjoint, each with at least one entry. */
  readonly steps: readonly StepRange[];
  /** Distinct names of the annotations used. */
  readonly annotations: readonly string[];
  /** The device they name, where it is not the one asked for. */
  readonly annotationsOfDevice: number | null;
  /** Steps between the first and the last entry that have none. */
  readonly withoutEntries: number;
}

/** A step that began earlier is cut to the trace; −1 means the beginning of the trace. */
interface Span {
  readonly step: number;
  readonly startUs: number | null;
  readonly endUs: number | null;
  readonly afterSeq: number;
  readonly lastSeq: number;
  readonly openStart: boolean;
  readonly openEnd: boolean;
}

const NONE: Steps = { origin: null, steps: [], annotations: [], annotationsOfDevice: null, withoutEntries: 0 };

/** What annotations show of the steps of one device, whether its trace reaches back to them or not. */
interface FoundSpans {
  readonly origin: StepOrigin;
  readonly spans: readonly Span[];
  readonly annotations: readonly string[];
  readonly annotationsOfDevice: number | null;
}

async function findSpans(store: Store, snapshotId: number, device: number): Promise<FoundSpans | undefined> {
  const id = { snapshot_id: snapshotId, device };
  const trace = await store.one('timeline.span', { ...id, time_us: null });
  const rows = await store.all('timeline.annotations', { ...id, steps: true, contains: null });
  if (trace === undefined || trace.first_time_us === null || rows.length === 0) return undefined;
  const profiler = rows.filter((row) => row.name.startsWith('ProfilerStep#'));
  const origin: StepOrigin = profiler.length > 0 ? 'profiler_step' : 'optimizer_step';
  const paired = pairAnnotations(profiler.length > 0 ? profiler : rows);
  const ofDevice = paired.filter((range) => range.device === device || range.endDevice === device);
  const used = ofDevice.length > 0 ? ofDevice : sameDevice(paired);
  const ranges = outermost(used);
  return {
    origin,
    spans: origin === 'profiler_step' ? profilerSpans(ranges, trace.last_seq) : optimizerSpans(ranges, trace.last_seq),
    annotations: origin === 'profiler_step' ? ['ProfilerStep#N'] : [...new Set(used.map((range) => range.name))],
    annotationsOfDevice: ofDevice.length > 0 ? null : (used[0]?.device ?? null),
  };
}

/**
 * The steps of one device. The trace of a device that no annotation names takes those of another: annotations carry the
 * thread's current device.
 */
export async function readSteps(store: Store, snapshotId: number, device: number): Promise<Steps> {
  const foundSpans = await findSpans(store, snapshotId, device);
  const trace = await store.one('timeline.span', { snapshot_id: snapshotId, device, time_us: null });
  if (foundSpans === undefined || trace === undefined) return NONE;
  const { origin, spans, annotations, annotationsOfDevice } = foundSpans;
  const cold = await beganEmpty(store, snapshotId, device);
  const cut = cutToTrace(spans, trace.first_seq, trace.last_seq, cold ? null : trace.first_time_us);
  return { origin, ...cut, annotations, annotationsOfDevice };
}

/**
 * Those of the device that has most: one process steps all its devices together, and must not be counted once for each.
 */
function sameDevice(ranges: readonly AnnotatedRange[]): readonly AnnotatedRange[] {
  const counts = new Map<number | null, number>();
  for (const { device } of ranges) counts.set(device, (counts.get(device) ?? 0) + 1);
  const [most] = [...counts].sort((a, b) => b[1] - a[1] || (a[0] ?? -1) - (b[0] ?? -1))[0] ?? [null];
  return ranges.filter(({ device }) => device === most);
}

/** Without ranges inside others: an optimizer that wraps another, two profilers at once. */
function outermost(ranges: readonly AnnotatedRange[]): AnnotatedRange[] {
  const kept: AnnotatedRange[] = [];
  let endUs = Number.NEGATIVE_INFINITY;
  for (const range of ranges) {
    const end = range.endUs ?? range.startUs!;
    if (range.startUs !== null && range.endUs !== null && end <= endUs) continue;
    kept.push(range);
    endUs = Math.max(endUs, end);
  }
  return kept;
}

/**
 * A missing end is where the next step starts, a missing start where the one before ended: `profiler.step()` does both
 * at once.
 */
function profilerSpans(ranges: readonly AnnotatedRange[], lastSeq: number): Span[] {
  return ranges.map((range, i) => {
    const before = ranges[i - 1];
    const next = ranges[i + 1];
    const startUs = range.startUs ?? before?.endUs ?? null;
    const endUs = range.endUs ?? next?.startUs ?? null;
    return {
      step: Number(range.name.slice('ProfilerStep#'.length)),
      startUs,
      endUs,
      afterSeq: range.startUs === null ? (before?.endSeq ?? -1) : (range.startSeq ?? -1),
      lastSeq: range.endUs === null ? (next === undefined ? lastSeq : (next.startSeq ?? -1)) : (range.endSeq ?? -1),
      openStart: startUs === null,
      openEnd: endUs === null,
    };
  });
}

/**
 * Each end of an optimizer step ends a training step. A chain of optimizers (experts and other parameters, two classes
 * of parameters) steps several times in a row: ends that follow one another in less than a twentieth of the time of a
 * long gap are one.
 */
function optimizerSpans(ranges: readonly AnnotatedRange[], lastSeq: number): Span[] {
  const ends = ranges.filter((range) => range.endUs !== null);
  if (ends.length === 0) return [];
  const gaps = ends.slice(1).map((range, i) => range.endUs! - ends[i]!.endUs!);
  const long = [...gaps].sort((a, b) => a - b)[Math.max(0, Math.ceil(gaps.length * 0.9) - 1)] ?? 0;
  const bounds = ends.filter((_, i) => i === ends.length - 1 || gaps[i]! * 20 >= long);
  const spans = bounds.map((end, i): Span => {
    const before = bounds[i - 1];
    return {
      step: i + 1,
      startUs: before?.endUs ?? null,
      endUs: end.endUs,
      afterSeq: before === undefined ? -1 : (before.endSeq ?? -1),
      lastSeq: end.endSeq ?? -1,
      openStart: before === undefined,
      openEnd: false,
    };
  });
  const last = bounds.at(-1)!;
  spans.push({
    step: bounds.length + 1,
    startUs: last.endUs,
    endUs: null,
    afterSeq: last.endSeq ?? -1,
    lastSeq,
    openStart: false,
    openEnd: true,
  });
  return spans;
}

/** `traceStartUs`: time of the first entry, null where the trace misses nothing before it. */
function cutToTrace(
  spans: readonly Span[],
  firstSeq: number,
  traceEnd: number,
  traceStartUs: number | null,
): { steps: StepRange[]; withoutEntries: number } {
  const steps: StepRange[] = [];
  const seen = new Map<number, number>();
  let after = firstSeq - 1;
  let withoutEntries = 0;
  for (const span of spans) {
    const first = Math.max(after, span.afterSeq) + 1;
    if (span.lastSeq < first) {
      if (first > firstSeq && first <= traceEnd && !span.openEnd) withoutEntries += 1;
      continue;
    }
    const cutStart = span.openStart || (traceStartUs !== null && span.startUs! < traceStartUs);
    const partial: StepPartial | null = cutStart ? (span.openEnd ? 'both' : 'start') : span.openEnd ? 'end' : null;
    const occurrence = (seen.get(span.step) ?? 0) + 1;
    seen.set(span.step, occurrence);
    const { step, startUs, endUs, lastSeq } = span;
    steps.push({
      step,
      occurrence,
      first_seq: first,
      last_seq: lastSeq,
      start_us: startUs,
      end_us: endUs,
      partial,
    });
    after = lastSeq;
  }
  return { steps, withoutEntries };
}

async function beganEmpty(store: Store, snapshotId: number, device: number): Promise<boolean> {
  const devices = await store.all('snapshot.devices', { snapshot_id: snapshotId });
  return devices.find((row) => row.device === device)?.start_reserved_bytes === 0;
}

/** Boundaries of training steps in ascending µs. */
export interface StepBoundaries {
  readonly times: Float64Array;
  /** What they were taken from: `ProfilerStep#N`, or the names of the optimizers' steps. */
  readonly source: string;
}

/**
 * Where steps begin and end: those of the profiler at their starts, the last also at its end; those of an optimizer at
 * its ends. Boundaries from before the first entry count: they show when the step of that entry began, and annotations
 * have a ring of their own that reaches further back.
 */
export async function stepBoundaries(
  store: Store,
  snapshotId: number,
  device: number,
): Promise<StepBoundaries | undefined> {
  const foundSpans = await findSpans(store, snapshotId, device);
  if (foundSpans === undefined) return undefined;
  const { origin, spans, annotations } = foundSpans;
  const times = new Set<number>();
  for (const span of spans) {
    if (origin === 'profiler_step' && span.startUs !== null) times.add(span.startUs);
    if (origin === 'optimizer_step' && span.endUs !== null) times.add(span.endUs);
  }
  const last = spans.at(-1)?.endUs;
  if (origin === 'profiler_step' && last !== undefined && last !== null) times.add(last);
  if (times.size === 0) return undefined;
  return { times: Float64Array.from([...times].sort((a, b) => a - b)), source: annotations.join(', ') };
}
