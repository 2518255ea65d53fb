import type { LogIncident } from '../../model/results/log.js';
import { type IncidentKind, isOomKind } from '../../model/vocabulary.js';

/** What is known of one incident of a run; rows of the `incident` table or of a parser, as the caller has them. */
export interface FailureCandidate
  extends Pick<LogIncident, 'kind' | 'rank' | 'file' | 'line' | 'grammar' | 'exception' | 'text'> {
  /** Launch inside the run; incidents of different launches are never compared. */
  readonly attempt: number;
  /** Wall clock as printed, microseconds; null where a line has none. */
  readonly timeUs: number | null;
  /** Last iteration printed before it. */
  readonly iteration: number | null;
  /** Of a process that it reports ended. */
  readonly exitCode?: number | null;
  /** The launch went on after it. */
  readonly survived?: boolean;
}

/**
 * `primary`: its text has the cause. `unexplained`: it failed, and its text has no cause. `secondary`: it reports the
 * failure of another process. `mention`: not a failure.
 */
export const FAILURE_ROLES = ['primary', 'unexplained', 'secondary', 'mention'] as const;
export type FailureRole = (typeof FAILURE_ROLES)[number];

export interface RankedFailure<T extends FailureCandidate> {
  readonly incident: T;
  readonly role: FailureRole;
}

export interface FirstFailure<T extends FailureCandidate> {
  /** The incident the others follow from; null where nothing failed. */
  readonly first: RankedFailure<T> | null;
  /** How it was chosen, in words. */
  readonly basis: string;
  /**
   * Ranks that failed with a cause of their own after it, in the order of their failures: the same overload usually.
   */
  readonly alsoFailed: readonly T[];
  /** Ranks that only reported the failure of another rank. */
  readonly victims: readonly number[];
  /** Everything that is a consequence or a report of a failure. */
  readonly secondary: readonly T[];
}

const CONSEQUENCES: ReadonlySet<IncidentKind> = new Set<IncidentKind>(['timeout', 'connection_lost']);
/** Weak signs: a library without a known reason, or a mention of a time when memory was short. */
const WEAK: ReadonlySet<IncidentKind> = new Set<IncidentKind>([
  'nccl_unknown',
  'cudnn_unknown',
  'dataloader_worker_killed',
  'illegal_access_near_oom',
  'other',
]);
/**
 * Formats whose `other` has a cause: an exception, a NaN, a full disk. A crash or an unspecified launch failure has
 * none.
 */
const OWN_WORDS = /^(?:python\.traceback$|python\.exception_line$|cuda\.named_error$|megatron\.|data\.|filesystem\.)/;
const REPORT_GRAMMARS = /^(?:torchrun|launcher|slurm|mpi|scheduler)\./;
const REPORT_EXCEPTIONS =
  /(?:^|\.)(?:ChildFailedError|SignalException|CalledProcessError|Process(?:Exited|Raised)Exception|BrokenProcessPool|TerminatedWorkerError|RayTaskError|(?:Ray)?Actor(?:Died|Unavailable)?Error|WorkerCrashedError)$/;
/** What a launcher's process reports of the one it started; its text refers to another for the cause. */
const REPORT_TEXTS =
  /^(?:\w{0,40}Error: )?(?:Engine core initialization failed|.{0,120}(?:root cause|stack trace above|worker(?:s)? died|subprocesses has abruptly died))/i;

/** A time limit or a cancelled job is a report too, but of the only reason there is. */
const ENDINGS: ReadonlySet<IncidentKind> = new Set<IncidentKind>(['time_limit', 'preempted', 'hardware', 'host_oom']);
/** A user or a scheduler is named. A signal that a launcher received, or a step that was cancelled, can be a report. */
const CANCELLED_BY = /^(?:scheduler\.|slurm\.interrupt$|process\.interrupted$|slurm-accounting|kubernetes)/;
const isCancelledBy = ({ grammar, text }: Pick<FailureCandidate, 'grammar' | 'text'>): boolean =>
  CANCELLED_BY.test(grammar) || (grammar === 'slurm.cancelled' && /\bJOB\b/.test(text));
/** Exit codes of processes that a signal from outside ended. */
const SIGNALLED: ReadonlySet<number> = new Set([-15, -9, -2, 130, 137, 143]);
/** A process ended by itself, with an error. */
const isOwnExit = ({ exitCode }: Pick<FailureCandidate, 'exitCode'>): boolean =>
  exitCode != null && exitCode !== 0 && !SIGNALLED.has(exitCode);
const ABORTED = /^(?:Fatal Python error: )?Aborted\b/;
/** A failure and the abort of the process that had it, as far as the ranks are known. */
const endsIn = (fault: FailureCandidate, { file, line, rank }: FailureCandidate): boolean =>
  fault.file === file && fault.line < line && (rank === null || fault.rank === rank);
/** A launcher ends its own processes: no evidence of the cause. */
const TEARDOWN = /^(?:Killing subprocess|Sending process|srun: )/;
const isTeardown = (incident: Pick<FailureCandidate, 'exitCode' | 'text' | 'kind'>): boolean =>
  !isOwnExit(incident) &&
  (TEARDOWN.test(incident.text) || (incident.kind === 'other' && SIGNALLED.has(incident.exitCode ?? 0)));
/** Of several nodes, each launcher names one of its own. */
const ROOT_CAUSE = /^root cause \(torchrun\): /;

export function roleOf(incident: Pick<FailureCandidate, 'kind' | 'grammar' | 'exception' | 'text'>): FailureRole {
  const { kind, grammar, exception, text } = incident;
  if (kind === 'negative_text') return 'mention';
  if (CONSEQUENCES.has(kind)) return 'secondary';
  if (ENDINGS.has(kind)) return 'primary';
  if (kind === 'cancelled') return isCancelledBy(incident) ? 'primary' : 'unexplained';
  if (kind === 'killed') return 'unexplained';
  if (REPORT_GRAMMARS.test(grammar)) return 'secondary';
  if (exception !== null && REPORT_EXCEPTIONS.test(exception)) return 'secondary';
  if (REPORT_TEXTS.test(text)) return 'secondary';
  if (kind === 'other' && OWN_WORDS.test(grammar)) return 'primary';
  return WEAK.has(kind) ? 'unexplained' : 'primary';
}

/**
 * Whether what failed is in the text of the first failure: in its own, or in that of a worker that the table of a
 * launcher quotes.
 */
export function namesCause(
  role: string,
  { grammar, exception }: Pick<FailureCandidate, 'grammar' | 'exception'>,
): boolean {
  return (
    role === 'primary' || (grammar === 'torchrun.footer' && exception !== null && !REPORT_EXCEPTIONS.test(exception))
  );
}

const ROLE_ORDER: Readonly<Record<FailureRole, number>> = { primary: 0, unexplained: 1, secondary: 2, mention: 3 };

/**
 * The first failure of a run and what followed from it. A cause in an incident's own text takes precedence over any
 * clock: a watchdog of another rank, a launcher's footer ("root cause", by the clock of its own node) and a scheduler's
 * report come after it whatever time they print. Among equals the earlier printed time decides where both have one,
 * then the earlier iteration, then the place in one file. Nothing is compared across launches: the last failed launch
 * is reported.
 */
export function firstFailure<T extends FailureCandidate>(incidents: readonly T[]): FirstFailure<T> {
  const failed = incidents.filter(
    (incident) => roleOf(incident) !== 'mention' && (incident.survived !== true || isOomKind(incident.kind)),
  );
  if (failed.length === 0) {
    return { first: null, basis: 'nothing failed', alsoFailed: [], victims: [], secondary: [] };
  }
  const attempt = failed.reduce((latest, incident) => Math.max(latest, incident.attempt), 0);
  const ranked = withSignals(failed.filter((incident) => incident.attempt === attempt));
  const best = ranked.reduce((a, b) => (ROLE_ORDER[b.role] < ROLE_ORDER[a.role] ? b : a)).role;
  const ofRole = ranked.filter(({ role }) => role === best).sort((a, b) => inOrder(a.incident, b.incident));
  const candidates = best === 'secondary' ? mostDirect(ofRole) : ofRole;
  const first = earliest(candidates);
  const ownRank = first.incident.rank;
  const causes = ranked.filter(({ role }) => role === 'primary' || role === 'unexplained');
  const failing = new Set(causes.map(({ incident }) => incident.rank).filter((rank) => rank !== null));
  const secondary = ranked.filter(({ role, incident }) => role === 'secondary' && incident !== first.incident);
  const victims = new Set<number>();
  for (const { incident } of secondary) {
    if (incident.rank !== null && incident.rank !== ownRank && !failing.has(incident.rank)) victims.add(incident.rank);
  }
  return {
    first,
    basis: basisOf(first, candidates, ranked.length),
    alsoFailed: causes
      .map(({ incident }) => incident)
      .filter((incident) => incident !== first.incident)
      .sort(inOrder),
    victims: [...victims].sort((a, b) => a - b),
    secondary: secondary.map(({ incident }) => incident).sort(inOrder),
  };
}

/**
 * Roles within one launch. A signal from outside is a cause only if nothing had failed before it; then what fails
 * afterwards follows from it. A process that got SIGKILL is a consequence where another ended with an error.
 */
function withSignals<T extends FailureCandidate>(incidents: readonly T[]): RankedFailure<T>[] {
  const isSignal = ({ kind }: T): boolean => kind === 'cancelled' || kind === 'killed';
  const faults = incidents.filter((incident) => !isSignal(incident) && !isTeardown(incident));
  const hasExit = faults.some(isOwnExit);
  const firstFault = new Map<string, number>();
  for (const { file, line } of faults) firstFault.set(file, Math.min(line, firstFault.get(file) ?? line));
  const isBehindFault = ({ file, line }: T): boolean => (firstFault.get(file) ?? line) < line;
  // A scheduler cancels a step because one of its tasks was killed.
  const isBehindKill = ({ file, line }: T): boolean =>
    incidents.some(
      (other) =>
        other.kind === 'killed' && other.grammar === 'slurm.task_end' && other.file === file && other.line < line,
    );
  // A scheduler ends the step on all nodes after the failure of one; their logs have nothing but the end of the step.
  const hasCauseElsewhere = ({ file, timeUs }: T): boolean =>
    faults.some(
      (fault) =>
        roleOf(fault) === 'primary' &&
        fault.file !== file &&
        (timeUs === null || fault.timeUs === null || fault.timeUs <= timeUs),
    );
  const outside = incidents.filter(
    (incident) => incident.kind === 'cancelled' && !isBehindFault(incident) && !isBehindKill(incident),
  );
  // A scheduler ends a job by signals, and prints the reason before or after them.
  const isDecided = incidents.some(
    (incident) => ENDINGS.has(incident.kind) || (incident.kind === 'cancelled' && isCancelledBy(incident)),
  );
  const followsSignal = (incident: T): boolean =>
    outside.some(({ file, line }) => file === incident.file && line < incident.line);
  return incidents.map((incident) => {
    const role = roleOf(incident);
    if (role !== 'primary' && role !== 'unexplained') return { incident, role };
    if (incident.kind === 'killed' && (hasExit || isBehindFault(incident))) return { incident, role: 'secondary' };
    // A watchdog, and an exception that nothing catches, abort their process.
    if (ABORTED.test(incident.text) && faults.some((fault) => endsIn(fault, incident)))
      return { incident, role: 'secondary' };
    if (incident.kind === 'cancelled') {
      if (isDecided && !isCancelledBy(incident)) return { incident, role: 'secondary' };
      if (isBehindFault(incident) || isBehindKill(incident))
        return { incident, role: isCancelledBy(incident) ? role : 'secondary' };
      return { incident, role: !isCancelledBy(incident) && hasCauseElsewhere(incident) ? 'secondary' : 'primary' };
    }
    const isConsequence = !isOomKind(incident.kind) && !ENDINGS.has(incident.kind) && followsSignal(incident);
    return { incident, role: isConsequence ? 'secondary' : role };
  });
}

/**
 * Where only reports are left: what a launcher names as the first failure, then exits with an error, then other
 * reports; what a launcher did to end the other ranks only where there is nothing else. A rank that waited is worth as
 * much as an exit.
 */
function mostDirect<T extends FailureCandidate>(reports: readonly RankedFailure<T>[]): readonly RankedFailure<T>[] {
  const hasWaited = reports.some(({ incident }) => CONSEQUENCES.has(incident.kind));
  const levelOf = ({ incident }: RankedFailure<T>): number => {
    if (isTeardown(incident)) return 3;
    if (hasWaited) return 0;
    return isOwnExit(incident) ? (ROOT_CAUSE.test(incident.text) ? 0 : 1) : 2;
  };
  const level = reports.reduce((least, report) => Math.min(least, levelOf(report)), 3);
  return reports.filter((report) => levelOf(report) === level);
}

/**
 * By time where both print one; else by iteration where both know one; else by place, which orders lines of one file.
 */
function compare(a: FailureCandidate, b: FailureCandidate): number {
  if (a.timeUs !== null && b.timeUs !== null && a.timeUs !== b.timeUs) return a.timeUs - b.timeUs;
  if (a.file === b.file) return a.line - b.line;
  if (a.iteration !== null && b.iteration !== null && a.iteration !== b.iteration) return a.iteration - b.iteration;
  return kindOrder(a.kind) - kindOrder(b.kind);
}

/**
 * Where the order is unknown: memory first, because other exceptions may follow from it; a time limit last, because a
 * hang ends in it.
 */
function kindOrder(kind: IncidentKind): number {
  if (kind === 'time_limit') return 3;
  if (kind === 'other') return 2;
  return isOomKind(kind) ? 0 : 1;
}

/** A stable order for printing; the comparison above is not transitive where only some lines print a time. */
function inOrder(a: FailureCandidate, b: FailureCandidate): number {
  const time = (x: FailureCandidate): number => x.timeUs ?? Number.POSITIVE_INFINITY;
  if (time(a) !== time(b)) return time(a) < time(b) ? -1 : 1;
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line;
}

/** The one that no other precedes, of a list in printing order. */
function earliest<T extends FailureCandidate>(candidates: readonly RankedFailure<T>[]): RankedFailure<T> {
  return candidates.reduce((a, b) => (compare(b.incident, a.incident) < 0 ? b : a));
}

function basisOf<T extends FailureCandidate>(
  first: RankedFailure<T>,
  candidates: readonly RankedFailure<T>[],
  all: number,
): string {
  if (all === 1) return 'the only failure';
  const otherCandidates = candidates.filter((candidate) => candidate !== first);
  const role =
    first.role === 'primary'
      ? 'it has its own error'
      : first.role === 'unexplained'
        ? 'no failure has its own error'
        : ROOT_CAUSE.test(first.incident.text)
          ? 'only reports were found; the launcher names it as the first failure'
          : 'only secondary failures were found';
  if (otherCandidates.length === 0)
    return first.role === 'primary' ? 'the only failure with its own error' : `${role}; the only one of its kind`;
  const { incident } = first;
  if (incident.timeUs !== null && otherCandidates.every(({ incident: other }) => other.timeUs !== null)) {
    return `${role}; the earliest printed time of ${candidates.length}`;
  }
  if (otherCandidates.every(({ incident: other }) => other.file === incident.file)) {
    return `${role}; the first of ${candidates.length} in its file`;
  }
  return `${role}; one of ${candidates.length} in an unknown order: their times cannot be compared`;
}
