/**
 * Training steps as ranges of trace entries. The torch profiler brackets each step with a `ProfilerStep#N` annotation
 * (`torch/profiler/profiler.py`); without it there are still the annotations that every `torch.optim.Optimizer` leaves
 * (`Optimizer.step#Class.step`, `torch/optim/optimizer.py`, `profile_hook_step`), of which the ends bound the steps.
 * Both are in a snapshot only if its recording hooked the thread (torch 2.6 and newer).
 */
import { type AnnotatedRange, pairAnnotations } from '../../derive/pair-annotations.js';
import type { StepOrigin, StepPartial, StepRange } from '../../model/results/timeline.js';

/** A step, or a part of the time between two, of which the trace lacks entries. */
export interface StepSpan extends Omit<StepRange, 'first_seq' | 'last_seq' | 'occurrence' | 'partial'> {
  /** Null: the trace lacks entries of it. */
  readonly range: Pick<StepRange, 'first_seq' | 'last_seq' | 'occurrence' | 'partial'> | null;
}

export interface TraceSteps {
  readonly origin: StepOrigin;
  readonly spans: readonly StepSpan[];
  /** Distinct names of the annotations used. */
  readonly annotations: readonly string[];
  /** The device they name, where it is not the one asked for. */
  readonly annotationsOfDevice: number | null;
  /** Steps between the first and the last entry that have none. */
  readonly withoutEntries: number;
}

/** The start or end of an annotated scope. */
export interface Annotation {
  readonly ordinal: number;
  readonly stage: 'START' | 'END';
  readonly name: string;
  readonly device: number | null;
  readonly time_us: number;
}

const STEP_NAME = /^(?:ProfilerStep#[0-9]+$|Optimizer[.]step#)/;

export const marksStep = (name: string): boolean => STEP_NAME.test(name);

/** What of a device's trace the steps are cut to. */
export interface TraceSpan {
  readonly device: number;
  readonly entries: number;
  /** The earliest time of an entry; null where entries have none. */
  readonly firstTimeUs: number | null;
  /** Nothing was reserved before the first entry: the trace misses nothing. */
  readonly beganEmpty: boolean;
  /** The last entry at or before each of these ascending times; −1 = none. */
  lastSeqs(times: Float64Array): Int32Array;
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

/**
 * The steps of one device, from the annotations of steps. The trace of a device that no annotation names takes those of
 * another: annotations carry the thread's current device.
 */
export function findSteps(annotations: readonly Annotation[], trace: TraceSpan): TraceSteps | undefined {
  if (trace.firstTimeUs === null || trace.entries === 0 || annotations.length === 0) return undefined;
  const ordered = [...annotations].sort((a, b) => a.time_us - b.time_us || a.ordinal - b.ordinal);
  const seqs = trace.lastSeqs(Float64Array.from(ordered, (row) => row.time_us));
  const rows = ordered.map((row, i) => ({ ...row, last_seq: seqs[i]! < 0 ? null : seqs[i]! }));
  const profiler = rows.filter((row) => row.name.startsWith('ProfilerStep#'));
  const origin: StepOrigin = profiler.length > 0 ? 'profiler_step' : 'optimizer_step';
  const paired = pairAnnotations(profiler.length > 0 ? profiler : rows);
  const ofDevice = paired.filter((range) => range.device === trace.device || range.endDevice === trace.device);
  const used = ofDevice.length > 0 ? ofDevice : sameDevice(paired);
  const ranges = outermost(used);
  const traceEnd = trace.entries - 1;
  const spans = origin === 'profiler_step' ? profilerSpans(ranges, traceEnd) : optimizerSpans(ranges, traceEnd);
  return {
    origin,
    ...cutToTrace(spans, traceEnd, trace.beganEmpty ? null : trace.firstTimeUs),
    annotations: origin === 'profiler_step' ? ['ProfilerStep#N'] : [...new Set(used.map((range) => range.name))],
    annotationsOfDevice: ofDevice.length > 0 ? null : (used[0]?.device ?? null),
  };
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
  traceEnd: number,
  traceStartUs: number | null,
): { spans: StepSpan[]; withoutEntries: number } {
  const seen = new Map<number, number>();
  let after = -1;
  let withoutEntries = 0;
  const cut = spans.map(({ step, startUs, endUs, ...span }): StepSpan => {
    const times = { step, start_us: startUs, end_us: endUs };
    const first = Math.max(after, span.afterSeq) + 1;
    if (span.lastSeq < first) {
      if (first > 0 && first <= traceEnd && !span.openEnd) withoutEntries += 1;
      return { ...times, range: null };
    }
    const cutStart = span.openStart || (traceStartUs !== null && startUs! < traceStartUs);
    const partial: StepPartial | null = cutStart ? (span.openEnd ? 'both' : 'start') : span.openEnd ? 'end' : null;
    const occurrence = (seen.get(step) ?? 0) + 1;
    seen.set(step, occurrence);
    after = span.lastSeq;
    return { ...times, range: { first_seq: first, last_seq: span.lastSeq, occurrence, partial } };
  });
  return { spans: cut, withoutEntries };
}
