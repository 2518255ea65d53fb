/** From figures of runs to points of a history: one a commit, or one a run. */
import { getOrAdd } from '../../model/group-by.js';
import { median } from '../../model/median.js';
import type { HistoryAxis, HistoryEnding, HistoryPoint, HistoryResult } from '../../model/results/history.js';
import type { Text, Unworded } from '../../model/statement.js';
import type { CommitOrder } from './order-commits.js';
import { type RunFigure, reasonOf } from './run-figures.js';

export type Trend = Unworded<HistoryResult, 'notes' | 'reason'>;

export interface GroupedPoints {
  readonly points: readonly HistoryPoint[];
  /** Exact figures of each point, in the order of ingestion. */
  readonly repeats: readonly (readonly number[])[];
  readonly leftOut: Trend['left_out'];
}

/** A run with a figure. */
type Known = RunFigure & { readonly value: number };

const SEVERITY: Readonly<Record<HistoryEnding, number>> = { ok: 0, failed: 1, oom: 2 };
/** Git's own abbreviations are not shorter; the beginning of two commits is not an abbreviation. */
const LEAST_PREFIX = 7;

/**
 * @param runs in the order of their first ingestion
 * @param order of a repository; undefined: the order of ingestion stays
 */
export function groupPoints(
  runs: readonly RunFigure[],
  by: HistoryAxis,
  order: CommitOrder | undefined,
): GroupedPoints {
  const leftOut: { run: string; commit: string | null; reason: Text }[] = [];
  const fullIds = order === undefined ? wholeIds(runs) : undefined;
  const groups = new Map<string, { commit: string | null; runs: Known[] }>();
  for (const run of runs) {
    const leave = (reason: Text): void => void leftOut.push({ run: run.run, commit: run.commit, reason });
    const commit = run.commit === null ? null : (order?.find(run.commit) ?? fullIds?.get(run.commit) ?? null);
    if (run.value === null) leave(run.missing ?? reasonOf('figure'));
    else if (commit === null && run.commit !== null) leave(reasonOf('not_in_history'));
    else if (commit === null && (by === 'commit' || order !== undefined)) leave(reasonOf('without_commit'));
    else {
      const key = by === 'commit' ? commit! : `${groups.size}`;
      getOrAdd(groups, key, () => ({ commit, runs: [] })).runs.push({ ...run, value: run.value });
    }
  }
  const ordered = [...groups.values()];
  // Sorting is stable: runs of one commit stay in the order of ingestion.
  if (order !== undefined) ordered.sort((a, b) => order.position(a.commit!) - order.position(b.commit!));
  return {
    points: ordered.map((group) => pointOf(group.commit, group.runs)),
    repeats: ordered.map((group) => exactOf(group.runs).map(({ value }) => value)),
    leftOut,
  };
}

function exactOf(runs: readonly Known[]): Known[] {
  return runs.filter((run) => !run.isLowerBound);
}

function pointOf(commit: string | null, runs: readonly Known[]): HistoryPoint {
  const exact = exactOf(runs);
  const used = exact.length > 0 ? exact : runs;
  const values = used.map(({ value }) => value).sort((a, b) => a - b);
  const low = values[0]!;
  const high = values.at(-1)!;
  const { label } = runs[0]!;
  return {
    commit,
    run: runs.at(-1)!.run,
    names: runs.map(({ run }) => run),
    label: runs.every((run) => run.label === label) ? label : null,
    // Of bounds, the highest implies all others.
    value: exact.length > 0 ? median(values) : high,
    low,
    high,
    runs: runs.length,
    ending: runs.reduce<HistoryEnding>(
      (worst, { ending }) => (SEVERITY[ending] > SEVERITY[worst] ? ending : worst),
      'ok',
    ),
    approximate: used.some(({ approximate }) => approximate),
    is_lower_bound: exact.length === 0,
  };
}

/**
 * Each spelling of a commit to the longest one that begins with it: one run may have been ingested with 3f2a1bc and the
 * next with all 40 digits.
 */
function wholeIds(runs: readonly RunFigure[]): Map<string, string> {
  const commits = [...new Set(runs.flatMap(({ commit }) => (commit === null ? [] : [commit])))];
  const sorted = [...new Set(commits.map((commit) => commit.toLowerCase()))].sort().reverse();
  const longest = new Map<string, string>();
  let last = '';
  for (const commit of sorted) {
    if (commit.length < LEAST_PREFIX || !/^[0-9a-f]+$/.test(commit) || !last.startsWith(commit)) last = commit;
    longest.set(commit, last);
  }
  return new Map(commits.map((commit) => [commit, longest.get(commit.toLowerCase())!]));
}
