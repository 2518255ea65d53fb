/** How each launch of a run ended, and which launch is judged. */
import type { LaunchEnd, LaunchEnding } from '../../model/launch-end.js';
import { maxOf } from '../../model/lists.js';
import type { LogIncident } from '../../model/results/log.js';
import type { CaughtOoms } from '../../model/run-state.js';
import { type IncidentKind, isOomKind } from '../../model/vocabulary.js';
import type { QueryRow } from '../../store/query-catalog.js';
import { readFirstFailure } from './first-failure-result.js';

type Ends = QueryRow<'log.launch_ends'>;

/** A decision about the job, not a fault of the run: it ends nothing that was done already. */
const DECISIONS: ReadonlySet<IncidentKind> = new Set<IncidentKind>(['cancelled', 'time_limit', 'preempted', 'killed']);

/** `launches`: how many there are. */
export function launchEnds(launches: number, incidents: readonly LogIncident[], ends: readonly Ends[]): LaunchEnd[] {
  return Array.from({ length: launches }, (_, index) => {
    const attempt = index + 1;
    const last = ends.find((row) => row.attempt === attempt);
    const all = incidents.filter((incident) => (incident.attempt ?? 1) === attempt);
    const fatal = all.filter(({ survived }) => !survived);
    const isFinished = last?.finished_line != null;
    const known = readFirstFailure(fatal);
    // A launcher that ended its processes shows that the launch did not go on, and nothing of the reason.
    const isExplained = isFinished || (known !== null && known.role !== 'secondary');
    const thrown = all.filter(
      ({ is_oom: isOom, survived, traceback_line: line }) => isOom && survived && (known === null || line !== null),
    );
    const judged =
      !isExplained && thrown.length > 0 && caughtInLaunch(all, isFinished)?.is_certain !== true ? thrown : fatal;
    const first = judged === fatal ? known : readFirstFailure(judged);
    const ending = endingOf(first === null ? undefined : judged[first.incident], first?.role, isFinished);
    const place =
      ending === 'finished'
        ? { file: last!.finished_file, line: last!.finished_line }
        : first === null
          ? { file: last?.last_file ?? null, line: last?.last_line ?? null }
          : first;
    return {
      attempt,
      ending,
      ending_kind: ending === 'finished' || first === null ? null : first.kind,
      ending_file: place.file,
      ending_line: place.line,
      ending_rank: ending === 'finished' ? null : (first?.rank ?? null),
      ending_host: ending === 'finished' ? null : (first?.host ?? null),
    };
  });
}

/**
 * The out-of-memory errors of one launch after which it went on. Where standard output is buffered, iterations are
 * printed after the error that ended them: certain is a printed end, a failure of another kind that ended the launch,
 * or an error that was logged without the traceback of an uncaught exception.
 */
export function caughtInLaunch(
  incidents: readonly LogIncident[],
  isFinished: boolean,
): Pick<CaughtOoms, 'count' | 'is_certain'> | null {
  const originals = incidents.filter(({ copy_of: copy }) => copy === null);
  const caught = originals.filter(({ is_oom: isOom, survived }) => isOom && survived);
  if (caught.length === 0) return null;
  const fatal = readFirstFailure(originals.filter(({ survived }) => !survived));
  const isLogged =
    fatal === null && caught.every(({ iteration, traceback_line: line }) => line === null && iteration !== null);
  return { count: caught.length, is_certain: isFinished || fatal?.role === 'primary' || isLogged };
}

function endingOf(incident: LogIncident | undefined, role: string | undefined, isFinished: boolean): LaunchEnding {
  if (incident === undefined) return isFinished ? 'finished' : 'unknown';
  const { kind, exit_code: exitCode, grammar, text } = incident;
  if (isFinished && (role !== 'primary' || DECISIONS.has(kind))) return 'finished';
  if (kind === 'cancelled' || kind === 'time_limit' || kind === 'preempted' || kind === 'killed') return kind;
  if (kind === 'hardware' && /node fail/i.test(text)) return 'node_failure';
  if (isOomKind(kind)) return 'oom';
  // What mpirun names has failed, with a code that is on another line. Of a worker that Ray lost none is printed.
  if (role !== 'secondary' || kind !== 'other' || /^(?:mpi|ray)\./.test(grammar)) return 'failed';
  return exitCode === null || exitCode === 0 ? 'unknown' : 'failed';
}

/**
 * The last launch whose end is known, since a launch that is running now shows none; but a launch behind one that
 * finished is judged itself.
 */
export function judgedAttempt(ends: readonly LaunchEnd[]): number {
  const known = ends.findLast(({ ending }) => ending !== 'unknown');
  return known === undefined || known.ending === 'finished'
    ? maxOf([1, ...ends.map(({ attempt }) => attempt)])
    : known.attempt;
}
