/**
 * The horizontal axis: entries, time or training steps across the visible range. All three map entries to numbers that
 * only grow, so that one range of entries is visible whatever the unit. Pure.
 */
import { columnStart } from '../../model/picture/levels.js';
import type { DeviceColumns, PageDevice } from '../../model/picture/page-data.js';
import type { AxisKind, ViewState } from './view-state.js';

export interface Axis {
  /** 0 to 1 across the visible range; outside of it below 0 or above 1. */
  xOf(seq: number): number;
  /** The inverse of {@link xOf}. */
  seqOf(x: number): number;
}

export function axisOf(device: PageDevice, columns: DeviceColumns, state: ViewState): Axis {
  const scale = scaleOf(device, columns, state.axis);
  const left = scale.valueOf(state.from);
  const width = scale.valueOf(state.to) - left;
  return {
    xOf: (seq) => (scale.valueOf(seq) - left) / width,
    seqOf: (x) => scale.seqOf(left + x * width),
  };
}

/** Entries to units of an axis: entries, microseconds after `firstTimeUs`, or steps; and back. */
export interface Scale {
  valueOf(seq: number): number;
  seqOf(value: number): number;
}

const ENTRIES: Scale = { valueOf: (seq) => seq, seqOf: (value) => value };

export const AXIS_KINDS: readonly AxisKind[] = ['entry', 'time', 'step'];

/** Why the trace cannot be drawn so; null: it can. */
export function missingAxis({ steps, isDump, noTimes }: PageDevice, kind: AxisKind): string | null {
  if (kind === 'entry') return null;
  if (isDump) return 'no trace was recorded';
  if (kind === 'step') return steps.length > 0 ? null : 'no entry marks the begin of a step';
  if (noTimes === null) return null;
  return noTimes === 'missing' ? 'not every entry has a time' : 'times of entries go back: the clock was set';
}

const scales = new WeakMap<DeviceColumns, Partial<Record<AxisKind, Scale>>>();

/** The scale of entries where the trace lacks the unit. */
export function scaleOf(device: PageDevice, columns: DeviceColumns, kind: AxisKind): Scale {
  let known = scales.get(columns);
  if (known === undefined) {
    known = {};
    scales.set(columns, known);
  }
  known[kind] ??= newScale(device, columns, kind);
  return known[kind];
}

function newScale(device: PageDevice, columns: DeviceColumns, kind: AxisKind): Scale {
  if (kind === 'entry' || missingAxis(device, kind) !== null) return ENTRIES;
  return kind === 'time' ? piecewise(...timeKnots(device, columns)) : piecewise(...stepKnots(device));
}

/** Entries and their values, both strictly ascending, at least two. */
type Knots = readonly [seqs: Float64Array, values: Float64Array];

/**
 * Times at the first entries of all columns. Entries of the same time get slightly different values, so that each has a
 * place.
 */
function timeKnots({ firstSeq, lastSeq }: PageDevice, { levels }: DeviceColumns): Knots {
  const times = new Map<number, number>();
  for (const level of levels)
    for (let i = 0; i < level.startUs.length; i += 1) times.set(columnStart(level, i), level.startUs[i]!);
  const known = [...times].sort(([a], [b]) => a - b);
  const seqs = new Float64Array(known.length + 1);
  const values = new Float64Array(known.length + 1);
  const last = known.at(-1)![1];
  const least = Math.max(1e-4, (last - known[0]![1]) / (lastSeq - firstSeq + 1) / 1e6);
  let latest = Number.NEGATIVE_INFINITY;
  known.forEach(([seq, us], i) => {
    latest = Math.max(latest, us);
    seqs[i] = seq;
    values[i] = latest + (seq - firstSeq) * least;
  });
  // After the last known time the trace goes on as in the columns before it.
  const end = known.length;
  seqs[end] = Math.max(lastSeq + 1, seqs[end - 1]! + 1);
  const back = Math.max(0, end - 4);
  const slope = end < 2 ? least : (values[end - 1]! - values[back]!) / (seqs[end - 1]! - seqs[back]!);
  values[end] = values[end - 1]! + (seqs[end]! - seqs[end - 1]!) * slope;
  return [seqs, values];
}

/** Each step is 1 wide. Before, between and after steps: its entries over those of a mean step, at most 1. */
function stepKnots({ firstSeq, lastSeq, steps }: PageDevice): Knots {
  const mean = Math.max(1, steps.reduce((sum, step) => sum + step.last - step.first + 1, 0) / steps.length);
  const seqs = [firstSeq];
  const values = [0];
  const add = (seq: number, width: number): void => {
    if (seq <= seqs.at(-1)!) return;
    seqs.push(seq);
    values.push(values.at(-1)! + width);
  };
  const gap = (seq: number): void => add(seq, Math.min(1, (seq - seqs.at(-1)!) / mean));
  for (const step of steps) {
    gap(step.first);
    add(step.last + 1, 1);
  }
  gap(lastSeq + 1);
  return [Float64Array.from(seqs), Float64Array.from(values)];
}

/** Linear between knots, and beyond the outer ones as in the part next to them. */
function piecewise(seqs: Float64Array, values: Float64Array): Scale {
  if (seqs.length < 2) return ENTRIES;
  return { valueOf: (seq) => interpolate(seqs, values, seq), seqOf: (value) => interpolate(values, seqs, value) };
}

/** `from` ascends. Where two of its values are the same, the later one counts. */
export function interpolate(from: Float64Array, to: Float64Array, value: number): number {
  const low = lastWhere(0, from.length - 2, (i) => from[i]! <= value);
  const width = from[low + 1]! - from[low]!;
  const share = width === 0 ? 0 : (value - from[low]!) / width;
  return to[low]! + share * (to[low + 1]! - to[low]!);
}

/** The last of `low` to `high` for which it is so, where it is so up to one and then no more; `low` if for none. */
export function lastWhere(low: number, high: number, is: (i: number) => boolean): number {
  let [least, most] = [low, high];
  while (least < most) {
    const middle = (least + most + 1) >> 1;
    if (is(middle)) least = middle;
    else most = middle - 1;
  }
  return least;
}
