/**
 * What both runs needed and how fast they were, of the same rank where there is one, with what the figures are
 * uncertain by.
 */
import { maxBy, sumOf } from '../../model/lists.js';
import type { MeasuredPeak, MeasuredRank, MeasuredSteps } from '../../model/measurement.js';
import type { Text } from '../../model/statement.js';
import type { PeakAccount, Verdict } from '../../model/verdict.js';
import type { QueryRow } from '../../store/query-catalog.js';
import { pairOfLines, pairOfPeaks } from './figures.js';
import type { Side } from './side.js';
import type { VerifyFigure, VerifyMeasured } from './unworded.js';
import { textOf } from './values.js';

/** How much step times vary between runs of the same thing; a row of `compare.rules`. */
export type NoiseRule = Pick<QueryRow<'compare.rules'>, 'assumed' | 'sigmas'>;

export function measure(before: Side, after: Side, rule: NoiseRule): VerifyMeasured {
  const lines = pairOfLines(before, after);
  const peaks = pairOfPeaks(before, after);
  return {
    peak_allocated: peakFigure(before, after),
    first_peak_allocated: lineFigure(before, after, lines, 'first_peak_allocated_bytes', textOf('first_line')),
    peak_reserved: reservedFigure(before, after, lines, peaks),
    cached: cachedFigure(before, after),
    ...stepFigures(before.measurement.steps, after.measurement.steps, rule),
  };
}

function figure(before: number | null, after: number | null, noise: number | null, of: Text): VerifyFigure {
  const delta = before === null || after === null ? null : after - before;
  return {
    before,
    after,
    delta,
    percent: delta === null || before === null || before === 0 ? null : (100 * delta) / before,
    noise: delta === null ? null : noise,
    of,
  };
}

function peakFigure(before: Side, after: Side): VerifyFigure {
  const peaks = pairOfPeaks(before, after);
  // Without a trace a dump is some moment, not the peak.
  if (peaks === null || [peaks.before, peaks.after].some(({ moment }) => moment === 'dump'))
    return lineFigure(before, after, pairOfLines(before, after), 'peak_allocated_bytes', textOf('lines'));
  const refused = peaks.before.moment === 'oom' || peaks.after.moment === 'oom';
  const of = textOf('of_snapshots', { rank: peaks.before.rank, refused });
  return figure(peaks.before.active_bytes, peaks.after.active_bytes, 0, of);
}

type LineField = 'peak_allocated_bytes' | 'peak_reserved_bytes' | 'first_peak_allocated_bytes';

const largest = ({ measurement }: Side, field: LineField): MeasuredRank | undefined =>
  maxBy(
    measurement.ranks.filter((row) => (row[field] ?? 0) > 0),
    (row) => row[field]!,
  );

/** Of the same rank of the same stage; else of the fullest ranks. */
function lineFigure(
  before: Side,
  after: Side,
  lines: { readonly before: MeasuredRank; readonly after: MeasuredRank } | null,
  field: LineField,
  words: Text,
): VerifyFigure {
  const [a, b] = [lines?.before ?? largest(before, field), lines?.after ?? largest(after, field)];
  const [x, y] = [a?.[field] ?? null, b?.[field] ?? null];
  const lacks = x !== null && y !== null ? null : x === y ? 'both' : x === null ? 'before' : 'after';
  const of = textOf('of_lines', { words, lacks, fullest: lines === null, rank: a?.rank });
  return figure(x, y, lacks === null ? Math.hypot(a!.precision_bytes, b!.precision_bytes) : null, of);
}

function reservedFigure(
  before: Side,
  after: Side,
  lines: Parameters<typeof lineFigure>[2],
  peaks: { readonly before: MeasuredPeak; readonly after: MeasuredPeak } | null,
): VerifyFigure {
  const reservedFigure = lineFigure(before, after, lines, 'peak_reserved_bytes', textOf('lines'));
  if (reservedFigure.delta !== null || peaks === null) return reservedFigure;
  const of = textOf('of_reserved', { rank: peaks.before.rank });
  return figure(peaks.before.reserved_bytes, peaks.after.reserved_bytes, null, of);
}

/**
 * Reserved bytes that are not in use, as far as the account separates them; null where it contains allocated bytes
 * only.
 */
function cachedOf({ parts }: Pick<PeakAccount, 'parts'>): number | null {
  const cached = parts.filter(({ part }) => /^(?:cached|reserved[ _].*unallocated)/.test(part));
  return cached.length === 0 ? null : sumOf(cached.map(({ bytes }) => bytes));
}

/** At the failure, else at the peak. */
function cachedFigure(before: Side, after: Side): VerifyFigure {
  const cachedOfSide = ({
    diagnosis,
    measurement,
  }: Side): { readonly bytes: number | null; readonly at: string | null } => {
    const verdict: Verdict | undefined = diagnosis.verdicts[0];
    if (verdict === undefined) return { bytes: null, at: null };
    const failed = measurement.status.ending === 'oom';
    const cachedBytes = failed ? cachedOf({ parts: verdict.accounting }) : null;
    if (cachedBytes !== null) return { bytes: cachedBytes, at: 'failure' };
    return { bytes: verdict.accounting_peak === null ? null : cachedOf(verdict.accounting_peak), at: 'peak' };
  };
  const [a, b] = [cachedOfSide(before), cachedOfSide(after)];
  const known = a.bytes !== null || b.bytes !== null;
  return figure(a.bytes, b.bytes, null, textOf('of_cached', { known, before: a.at, after: b.at }));
}

function stepFigures(
  a: MeasuredSteps | null,
  b: MeasuredSteps | null,
  { sigmas, assumed }: NoiseRule,
): Pick<VerifyMeasured, 'step_ms' | 'tflops'> {
  const of = textOf('of_steps', { a: a?.count, b: b?.count });
  const noise = (base: number | null, x: number | null, y: number | null): number | null => {
    if (a === null || b === null || base === null || x === null || y === null) return null;
    // Between runs, and what the medians of so few steps are uncertain by.
    const between = sigmas * assumed! * base * Math.SQRT2;
    return Math.hypot(between, (sigmas * x) / Math.sqrt(a.count), (sigmas * y) / Math.sqrt(b.count));
  };
  const figureOf = (median: 'median_ms' | 'median_tflops', spread: 'spread_ms' | 'spread_tflops'): VerifyFigure => {
    const [x, y] = [a?.[median] ?? null, b?.[median] ?? null];
    return figure(x, y, noise(x, a?.[spread] ?? null, b?.[spread] ?? null), of);
  };
  return { step_ms: figureOf('median_ms', 'spread_ms'), tflops: figureOf('median_tflops', 'spread_tflops') };
}

/**
 * Percent of throughput lost, with its uncertainty; null where unknown. Step times are comparable only at the same work
 * per GPU.
 */
export function throughputLost(
  { tflops, step_ms: steps }: VerifyMeasured,
  sameWork: boolean,
): { readonly percent: number; readonly noise: number } | null {
  if (tflops.percent !== null && tflops.before !== null)
    return { percent: -tflops.percent, noise: (100 * (tflops.noise ?? 0)) / tflops.before };
  if (!sameWork || steps.before === null || steps.after === null || steps.after === 0) return null;
  return { percent: 100 * (1 - steps.before / steps.after), noise: (100 * (steps.noise ?? 0)) / steps.before };
}
