/** Visible ranges of entries after a zoom or a move, in the units of the axis. Pure. */
import type { Scale } from './axis.js';

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What can be visible. */
export interface Bounds {
  readonly first: number;
  /** After the last one. */
  readonly end: number;
  /** No visible range is smaller. */
  readonly least: number;
}

/** `at` keeps its place on the screen; a factor below 1 shows less. */
export function zoomed(scale: Scale, bounds: Bounds, { from, to }: Range, at: number, factor: number): Range {
  const place = scale.valueOf(at);
  const start = scale.valueOf(bounds.first);
  const end = scale.valueOf(bounds.end);
  const left = scale.valueOf(from);
  const width = Math.min(end - start, (scale.valueOf(to) - left) * factor);
  // At an edge the place moves: what is beyond it is shown on the other side.
  const next = fitted(scale, bounds, place - (place - left) * factor, width);
  const least = Math.min(bounds.least, bounds.end - bounds.first);
  if (next.to - next.from >= least) return next;
  if (to - from <= least) return { from, to };
  const share = (at - from) / (to - from);
  const first = Math.min(bounds.end - least, Math.max(bounds.first, at - share * least));
  return { from: first, to: first + least };
}

/** Moved to the right by a share of what is visible, as far as the bounds allow; as wide as before on the screen. */
export function panned(scale: Scale, bounds: Bounds, { from, to }: Range, share: number): Range {
  const left = scale.valueOf(from);
  const width = scale.valueOf(to) - left;
  return fitted(scale, bounds, left + share * width, width);
}

/** The same range if `at` is in it; else one as wide with `at` in its middle. */
export function showing(scale: Scale, bounds: Bounds, range: Range, at: number): Range {
  if (at >= range.from && at < range.to) return { from: range.from, to: range.to };
  const left = scale.valueOf(range.from);
  const width = scale.valueOf(range.to) - left;
  return panned(scale, bounds, range, (scale.valueOf(at) - left) / width - 0.5);
}

/** A range of this width inside the bounds. At a bound it is exact: rounding must not leave a sliver outside. */
function fitted(scale: Scale, { first, end }: Bounds, wanted: number, width: number): Range {
  const lowest = scale.valueOf(first);
  const highest = scale.valueOf(end);
  const left = Math.max(lowest, Math.min(highest - width, wanted));
  return {
    from: left <= lowest ? first : scale.seqOf(left),
    to: left + width >= highest - (highest - lowest) * 1e-12 ? end : scale.seqOf(left + width),
  };
}
