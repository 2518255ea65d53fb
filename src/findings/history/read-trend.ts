/** `mbforensics history`: one figure of the runs of a store over commits, and where it took a new level. */
import { MbfError } from '../../model/errors.js';
import { maxOf, minOf } from '../../model/lists.js';
import { median } from '../../model/median.js';
import { pick } from '../../model/pick.js';
import type { CommitParents } from '../../model/results/history.js';
import {
  HISTORY_METRICS,
  type HistoryAxis,
  type HistoryChange,
  type HistoryMetricName,
  type HistoryPoint,
} from '../../model/results/history.js';
import { type Sentence, sentencesOf } from '../../model/statement.js';
import { formatCount } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import { changePoints, DEFAULT_MIN_CHANGE, type FoundChange, LEAST_POINTS } from './change-points.js';
import { groupPoints, type Trend } from './group-points.js';
import { repeatNoise } from './noise.js';
import { type CommitOrder, orderCommits } from './order-commits.js';
import { type RunFigure, readRunFigures } from './run-figures.js';

const noteOf = sentencesOf('history', 'notes');

export interface TrendOptions {
  readonly metric: HistoryMetricName;
  /** Undefined: commits if every run has one or there is a history, otherwise runs. */
  readonly by?: HistoryAxis | undefined;
  /** Only runs with this label. */
  readonly label?: string | undefined;
  /** Of a repository, oldest first; undefined: the order of ingestion. */
  readonly history?: readonly CommitParents[] | undefined;
  /** First and last commit (or its beginning), or run, of the points. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly minChange?: number | undefined;
}

/**
 * A store without such figures gives no points.
 *
 * @throws MbfError MBF1002 where `from` or `to` is not in it, MBF1001 where they are the wrong way round, MBF1008 where
 * the history has none of the commits
 */
export async function readTrend(store: Store, options: TrendOptions): Promise<Trend> {
  const all = await readRunFigures(store, options.metric);
  return describeTrend(options.label === undefined ? all : all.filter(({ label }) => label === options.label), options);
}

/** The same for given figures. Pure. */
export function describeTrend(runs: readonly RunFigure[], options: TrendOptions): Trend {
  const { metric, history } = options;
  const { unit, worse } = HISTORY_METRICS[metric];
  const minChange = options.minChange ?? DEFAULT_MIN_CHANGE;
  const commits = runs.flatMap(({ commit }) => (commit === null ? [] : [commit]));
  const by = options.by ?? (history !== undefined || commits.length === runs.length ? 'commit' : 'run');
  const order = history === undefined ? undefined : orderCommits(history, commits);
  if (order !== undefined && commits.length > 0 && !commits.some((commit) => order.find(commit) !== undefined))
    throw new MbfError('MBF1008', `it has none of the ${formatCount(new Set(commits).size)} commits of the runs`);
  const grouped = groupPoints(runs, by, order);
  const { first, last } = rangeOf(grouped.points, order, options.from, options.to);
  const points = grouped.points.slice(first, last + 1);
  const repeats = grouped.repeats.slice(first, last + 1);
  const fitted = changePoints(
    points.map(({ value, is_lower_bound }) => ({ value, isLowerBound: is_lower_bound })),
    { minChange, noise: noiseOfRepeats(repeats) },
  );
  return {
    schema: 'mbforensics/history@1',
    metric,
    unit,
    worse,
    by,
    order: order === undefined ? 'ingestion' : 'repository',
    points,
    change_points: fitted.changes.map((change) => changeOf(change, points, order, worse)),
    drifts: fitted.drifts,
    apart: fitted.outliers,
    noise: fitted.noise,
    min_change: minChange,
    notes: notesOf(points, runs, by, order !== undefined, metric),
    left_out: grouped.leftOut,
  };
}

/** Of a point, which is the median of its runs. */
function noiseOfRepeats(repeats: readonly (readonly number[])[]): number | undefined {
  const noise = repeatNoise(repeats);
  if (noise === undefined) return undefined;
  const counts = repeats.map((values) => Math.max(1, values.length)).sort((a, b) => a - b);
  return noise / Math.sqrt(median(counts));
}

function changeOf(
  change: FoundChange,
  points: readonly HistoryPoint[],
  order: CommitOrder | undefined,
  worse: 'higher' | 'lower',
): HistoryChange {
  const at = points[change.index]!;
  const previous = points[change.previous]!;
  return {
    index: change.index,
    commit: at.commit,
    run: at.run,
    previous_commit: previous.commit,
    previous_run: previous.run,
    ...pick(change, ['before', 'after', 'delta', 'relative', 'z']),
    is_lower_bound: change.isLowerBound,
    is_worse: worse === 'higher' ? change.delta > 0 : change.delta < 0,
    between:
      order === undefined || at.commit === null || previous.commit === null
        ? null
        : order.between(previous.commit, at.commit),
  };
}

/** Indices of the first and the last point asked for. */
function rangeOf(
  points: readonly HistoryPoint[],
  order: CommitOrder | undefined,
  from: string | undefined,
  to: string | undefined,
): { first: number; last: number } {
  const matches = (text: string) => (point: HistoryPoint) =>
    point.names.includes(text) || (text.length >= 4 && point.commit?.startsWith(text.toLowerCase()) === true);
  /** A commit that was not measured still has its place in the history. */
  const placeOf = (text: string): number | undefined => {
    const sha = order?.find(text);
    return sha === undefined ? undefined : order!.position(sha);
  };
  const find = (text: string, side: 'from' | 'to'): number => {
    const place = points.some(({ names }) => names.includes(text)) ? undefined : placeOf(text);
    if (place !== undefined) {
      const at = (point: HistoryPoint): number => order!.position(point.commit!);
      if (side === 'to') return points.findLastIndex((point) => at(point) <= place);
      const index = points.findIndex((point) => at(point) >= place);
      return index < 0 ? points.length : index;
    }
    const index = side === 'from' ? points.findIndex(matches(text)) : points.findLastIndex(matches(text));
    if (index < 0)
      throw new MbfError(
        'MBF1002',
        `invalid --${side} ${JSON.stringify(text)}; expected a commit or run of the history`,
      );
    return index;
  };
  const first = from === undefined ? 0 : find(from, 'from');
  const last = to === undefined ? points.length - 1 : find(to, 'to');
  if (from !== undefined && to !== undefined && first > last + 1)
    throw new MbfError('MBF1001', `--from ${from} comes after --to ${to}`);
  return { first, last };
}

/** Notes that a reader of the figures needs. */
function notesOf(
  points: readonly HistoryPoint[],
  runs: readonly RunFigure[],
  by: HistoryAxis,
  hasHistory: boolean,
  metric: HistoryMetricName,
): Sentence[] {
  const shown = new Set(points.flatMap(({ names }) => names));
  const used = runs.filter(({ run, value }) => value !== null && shown.has(run));
  const count = (isIt: (run: RunFigure) => boolean): number => used.filter(isIt).length;
  const died = count(({ isLowerBound, ending }) => isLowerBound && ending !== 'ok');
  const ends = used.flatMap(({ lastIteration }) => (lastIteration === null ? [] : [lastIteration]));
  const figures = {
    ...{
      least_points: LEAST_POINTS,
      failed: died,
      by,
      least: minOf(ends),
      most: Math.max(0, maxOf(ends)),
    },
    dumps: count(({ isLowerBound, ending }) => isLowerBound && ending === 'ok'),
    approximate: count((run) => run.approximate),
  };
  const notes = {
    few_points: points.length > 0 && points.length < LEAST_POINTS,
    ingestion: by === 'commit' && !hasHistory && points.length > 1,
    failed: died > 0,
    dumps: figures.dumps > 0,
    approximate: figures.approximate > 0,
    sources: new Set(used.map(({ source }) => source)).size > 1,
    iterations: metric === 'loss' && figures.least < figures.most,
  };
  return Object.entries(notes).flatMap(([code, applies]) => (applies ? [noteOf(code, figures)] : []));
}
