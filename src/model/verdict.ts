/**
 * A verdict as `src/findings` gives it: codes, figures and places. `src/report/verdict` makes its sentences. A code is
 * one of `src/knowledge/words` (`.ci/generate.mjs`), where its sentence is.
 */
import type {
  AppliedRule,
  CaptureId,
  EvidenceCode,
  HintKind,
  MissingKind,
  StepKind,
  SummaryKind,
  TotalKind,
} from './codes.gen.js';
import type { Place } from './place.js';
import type { WhatIfSetting } from './results/replay.js';
import type { RowOf } from './results/row-of.js';
import type { Figures, Statement } from './statement.js';
import type { Cause, CauseDetail, Component, Confidence } from './vocabulary.js';

export type { AppliedRule, CaptureId, HintKind, MissingKind, StepKind, TotalKind } from './codes.gen.js';

/** The place of a statement: a line of a text, or an entry of a trace (null: the snapshot as it was dumped). */
export type EvidencePlace =
  | { readonly path: string; readonly line: number }
  | { readonly path: string; readonly entry: number | null };

/** A query of `queries/` whose rows are behind a statement. */
export interface EvidenceQuery {
  readonly name: string;
  readonly params: Readonly<Record<string, string | number | null>>;
}

/**
 * The topic of an evidence entry: the failing request, where it was made, the message as printed, the run around it,
 * the result of a cause's test, the allocator model's result on the recording, or the need of the whole step.
 */
export type EvidenceTopic = 'request' | 'site' | 'message' | 'context' | 'test' | 'replay' | 'step';

/** What a piece of evidence is; its sentence names the `numbers`, `names` and `items` that it has. */
export type EvidenceKind =
  | EvidenceCode
  // Where the request was made, while doing what, and what its size means: a sentence of several.
  | 'failing_site';

export interface Evidence extends Statement<EvidenceKind> {
  /** `E1`, unique within the answer. */
  readonly id: string;
  readonly place: Place;
  readonly about?: EvidenceTopic;
  /** The place in a file of the run, where it is one. */
  readonly lines?: EvidencePlace;
  readonly query?: EvidenceQuery;
}

export interface Step extends Statement<StepKind> {
  /** `proven`: a replay with it serves every request. `forbidden`: the configuration does not allow it. */
  readonly status: 'open' | 'proven' | 'forbidden';
  /** What forbids it. */
  readonly because: { readonly text: string; readonly source: string } | null;
}

/** A capture, and which causes it would settle. */
export interface Capture {
  readonly id: CaptureId;
  readonly settles: readonly Cause[];
}

/** The answer of one cause's test. */
export interface CauseTest {
  readonly cause: Cause;
  readonly outcome: 'holds' | 'fails' | 'not_testable';
  /** As the view of the cause names it. */
  readonly reason: string;
  /** What it was decided by; names end in their unit. */
  readonly numbers: Readonly<Record<string, number>>;
  /** What else a reader needs: a call site, iterations, processes. */
  readonly details: Figures;
  /** Evidence against the outcome, as the view names it. */
  readonly doubts: readonly string[];
  /** The capture that would let it run; null where it ran. */
  readonly capture: CaptureId | null;
}

/** PyTorch's own advice, held against the evidence. */
export interface Hint extends Statement<HintKind> {
  /** Text: of a configuration. */
  readonly place: Place | string;
}

/** Whose figures an account is made of. */
export type AccountingFrom = 'snapshot' | 'log' | 'joined';

/** Live bytes (allocated and pending free) by component, in descending order; they add up to the total. */
export interface LiveComponents {
  readonly moment: 'oom' | 'peak' | 'dump';
  readonly total_bytes: number;
  readonly parts: readonly { readonly component: Component; readonly bytes: number }[];
}

export interface Total {
  readonly kind: TotalKind;
  readonly bytes: number;
  readonly place: Place;
}

export interface Part {
  readonly part: string;
  readonly bytes: number;
  /** Where it was read, or the figure that others were subtracted from; null for parts of 0 bytes. */
  readonly place: Place | null;
  /** By subtraction: what is left of this figure. */
  readonly rest_of?: 'total' | 'process' | 'reserved' | 'shares';
  readonly of?: readonly Part[];
}

/**
 * The account of the moment at which most was live. Parts of 0 bytes are left out; they add up to the total exactly.
 */
export interface PeakAccount {
  /**
   * `peak`: of the trace, after entry `seq` (null: before its first). `dump`: no trace, the dumped state. `lines`:
   * largest figures of memory lines, which may be of different moments.
   */
  readonly moment: 'peak' | 'dump' | 'lines';
  readonly seq: number | null;
  readonly from: AccountingFrom;
  readonly total: Total;
  readonly parts: readonly Part[];
}

/** How well the allocator model repeats the recording a verdict rests on. */
export interface ReplayVerdict extends Omit<RowOf<'verdict.replays'>, 'failure'> {
  readonly status: 'exact' | 'approximate' | 'refused';
}

/** Answers of the model about one OOM. */
export interface Counterfactual {
  readonly replay: ReplayVerdict;
  /** Recorded settings first, then the other kind of segments; empty if refused. */
  readonly rows: readonly WhatIfSetting[];
}

export type VerdictBasis = 'test' | 'kind' | 'guide' | 'none';

export type Contributor = Omit<RowOf<'verdict.contributors'>, 'run_id' | 'failure'>;

/** A failure that is counted with another one, and described by its verdict. */
export type AlikeFailure = Pick<RowOf<'verdict.counted'>, 'number' | 'rank' | 'device'>;

export interface Verdict {
  readonly rank: number | null;
  readonly device: number | null;
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly confidence: Confidence;
  /**
   * What decided: a test, the kind of the failure line, the guides' rule where figures are missing, or nothing. Null
   * where no failure was judged.
   */
  readonly basis: VerdictBasis | null;
  /** Of the test, the kind or the rule, as the store's views name it. */
  readonly reason: string | null;
  /** Parts of the device that could be had: those that would have served the request, and what fills a full device. */
  readonly contributors: readonly Contributor[];
  /** Null where a test holds: its answer is the summary. */
  readonly summary: Statement<SummaryKind> | null;
  readonly evidence: readonly Evidence[];
  /** What is not known. The tests that could not run come on top. */
  readonly missing: readonly MissingKind[];
  /** Every test, in the order they are tried; none for lines that carry no figures. */
  readonly tests: readonly CauseTest[];
  /** One capture for each test that could not run. */
  readonly captures: readonly Capture[];
  /** The rules that made one verdict of the tests' answers; `items` name what lowered the confidence. */
  readonly rules: readonly Statement<AppliedRule>[];
  readonly accounting_total: Total | null;
  readonly accounting: readonly Part[];
  readonly accounting_from: AccountingFrom | null;
  readonly accounting_peak: PeakAccount | null;
  /** What was live then, by component; null without a snapshot. See `mbforensics attribute`. */
  readonly components: LiveComponents | null;
  /** Null where no caching allocator ran out, or nothing decides it. */
  readonly hint: Hint | null;
  /** Whether the allocator model repeats the recording; null without one, or where it was not replayed. */
  readonly replay: ReplayVerdict | null;
  /**
   * The recorded settings, then the other kind of segments, at the recorded capacity; empty where nothing was replayed.
   */
  readonly what_if: readonly WhatIfSetting[];
  /** What to do next, cheapest first. */
  readonly steps: readonly Step[];
  /** Verbs that show more, ready to run; add the run or path that was diagnosed. */
  readonly commands: readonly string[];
  /**
   * Failures with the same verdict, tests, settings, code and request, of ranks of the same pipeline stage: they are
   * counted and not described.
   */
  readonly also: readonly AlikeFailure[];
  /** What ran out, where known. */
  readonly request: { readonly bytes: number; readonly site: string | null } | null;
}
