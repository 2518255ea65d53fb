/** Numbers of what ingest derives from a memory snapshot: lifetimes, totals and labels. */
/** `from_seq` of what was there before the first entry. */
export const BEFORE_TRACE = -1;
/** `to_seq`, and entries of other events, that are not in the trace. */
export const NEVER = 2 ** 31 - 1;

/** Rows of a course of totals at most, not counting those that cuts add: exact by entry up to there. */
export const MAX_BUCKETS = 65_536;
/** Entries of a stored row at least: one row for each entry was a third of a store. */
export const LEAST_STORED_ENTRIES = 64;

/** Entries a row for so many `events`: the least power of two from `least` on that keeps to {@link MAX_BUCKETS}. */
export function entriesPerBucket(events: number, least = 1): number {
  let entries = least;
  while (Math.ceil(events / entries) > MAX_BUCKETS) entries *= 2;
  return entries;
}

/** Of what is derived about a run: raised whenever the same rows would lead to other facts, verdicts or evidence. */
export const DERIVE_RULES = 11;

/** What is concluded about runs: no reader of their files depends on these. */
export const CONCLUDED_TABLES: ReadonlySet<string> = new Set([
  ...['peak_component', 'peak_site', 'judged_run', 'judged_rank', 'judged_trace', 'oom_step', 'oom_keeping_site'],
  ...['judged_lines', 'oom_fact', 'oom_sum', 'oom_part', 'cause_test', 'oom_replay', 'oom_what_if', 'verdict'],
  ...['evidence', 'diagnosis', 'oom', 'rank_summary', 'run_summary'],
]);
