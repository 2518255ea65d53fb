/** Numbers of what ingest derives from a memory snapshot: lifetimes, totals and labels. */
/** `from_seq` of what was there before the first entry. */
export const BEFORE_TRACE = -1;
/** `to_seq`, and entries of other events, that are not in the trace. */
export const NEVER = 2 ** 31 - 1;

/** 2^k entries a row; k is the least that gives at most so many rows: exact by entry up to there. */
export const MAX_BUCKETS = 65_536;

/** Of what is derived about a run: raised whenever the same rows would lead to other facts, verdicts or evidence. */
export const DERIVE_RULES = 9;
