/** Measurements against golden ones: the rules are the macro `judged_checks` of the library. */
import type { MeasuredPeak, Measurement } from '../../model/measurement.js';
import type { CheckReason, CheckStatus, CompareCheck } from '../../model/results/compare.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { Tolerances } from '../measure/tolerances.js';

export interface Sides {
  /** At least one; several are repetitions of the same thing. */
  readonly golden: readonly Measurement[];
  readonly current: readonly Measurement[];
}

export interface CheckRules {
  /** Where they differ from the view `check_rule`. */
  readonly tolerances: Tolerances;
  /** Whether ranks and stages of both sides mean the same. */
  readonly sameLayout: boolean;
  /** Other parts of a peak to judge than its components, in bytes by check. */
  readonly partsOf?: (peak: MeasuredPeak) => Readonly<Record<string, number>>;
}

type Row = QueryRow<'compare.checks'>;

/** Any store will do: the query reads none of its tables. */
export async function judgeChecks(store: Store, sides: Sides, rules: CheckRules): Promise<CompareCheck[]> {
  return (await judgeEach(store, [sides], rules))[0]!;
}

/** Several comparisons at once: planning the query takes 0.1 s, judging hardly anything. */
export async function judgeEach(
  store: Store,
  comparisons: readonly Sides[],
  { tolerances, sameLayout, partsOf }: CheckRules,
): Promise<CompareCheck[][]> {
  const documents = listOf(comparisons, (run) => documentOf(run, partsOf));
  const rows = await store.all('compare.checks', {
    documents,
    tolerances: JSON.stringify(tolerances),
    with_stages: sameLayout,
  });
  return comparisons.map((sides, i) =>
    rows.filter(({ comparison }) => comparison === String(i)).map((row) => checkOf(row, sides)),
  );
}

/** How runs ended, in their order; a part of the rules of {@link judgeChecks}. */
export function judgeEndings(store: Store, sides: Sides): Promise<QueryRow<'compare.endings'>[]> {
  return store.all('compare.endings', { documents: listOf([sides], ({ status }) => ({ status })) });
}

/** As JSON for the macros. */
function listOf(comparisons: readonly Sides[], document: (run: Measurement) => object): string {
  const rows = comparisons.flatMap(({ golden, current }, i) =>
    [golden, current].flatMap((runs, side) =>
      runs.map((run, position) => ({
        comparison: String(i),
        is_golden: side === 0,
        position,
        document: document(run),
      })),
    ),
  );
  return JSON.stringify(rows);
}

/** What the rules look at: a golden document also has hundreds of stacks. */
function documentOf(run: Measurement, partsOf: CheckRules['partsOf']) {
  const { status, ranks, steps, series, disturbances } = run;
  const peaks = run.peaks.map((peak) => {
    const { rank, moment, active_bytes, components } = peak;
    return { rank, moment, active_bytes, ...(partsOf === undefined ? { components } : { parts: partsOf(peak) }) };
  });
  return { status, ranks, peaks, steps, series: { iteration: series.iteration, loss: series.loss }, disturbances };
}

function checkOf(row: Row, sides: Sides): CompareCheck {
  const { golden_value: golden, change } = row;
  return {
    name: row.check_name,
    golden,
    current: golden === null || change === null ? null : golden + change,
    unit: row.unit,
    delta: change,
    relative: row.relative,
    tolerance: row.tolerance,
    status: row.status as CheckStatus,
    gate: row.is_gate,
    noise: row.noise,
    detectable: row.detectable,
    detectable_repeated: row.repeated,
    reason: null,
    why: whyOf(row, sides),
    is_least: row.is_least,
  };
}

function whyOf(row: Row, { golden, current }: Sides): CheckReason | null {
  const { reason, reason_rank: rank, reason_from: from, reason_to: to, reason_text: text } = row;
  const code = reason as Exclude<CheckReason['code'], 'preset'> | null;
  switch (code) {
    case null:
      return null;
    case 'ending':
      return { code, golden: golden[row.golden_ending!]!.status, current: current[row.current_ending!]!.status };
    case 'snapshots':
    case 'snapshots_with_refused':
      return { code, rank };
    case 'small_part':
    case 'no_steps':
    case 'current_without_steps':
      return { code, least: row.reason_least! };
    case 'steady_iterations':
      return { code, from: from!, to: to! };
    case 'last_common_loss':
      return { code, iteration: to! };
    case 'ended_early':
      return { code, iteration: to };
    case 'disturbed':
      return { code, kind: row.reason_kind as Extract<CheckReason, { kind: unknown }>['kind'], text: text! };
    default:
      return { code };
  }
}
