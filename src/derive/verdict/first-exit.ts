/** The verdict where launchers and schedulers report which process ended first, and nothing shows why. */
import type { FirstFailureResult } from '../../model/first-failure.js';
import type { LogIncident } from '../../model/results/log.js';
import { type Figures, known, named, statement } from '../../model/statement.js';
import type { Verdict } from '../../model/verdict.js';
import { capturesFor } from './combine.js';
import { stepsOf } from './describe-answers.js';
import { UNDECIDED } from './judge-message.js';

const TASKS = /: tasks? ([\d,\s-]{1,200}): /;

/** Reports of a process that ended which print no exit code; the exception of Ray's is that of its caller. */
const MPI = 'mpi.rank_ended';
const RAY = /^ray\.(?:actor|worker)_died$/;

/** A process ended, as a report shows it: without the exception, any cause is possible. */
export function isFirstExit(first: FirstFailureResult, failure: LogIncident): boolean {
  const { kind, grammar, exit_code, exception, rank, local_rank, host, pid } = failure;
  if (kind === 'killed') return [rank, local_rank, host, pid].some((name) => name !== null);
  if (kind !== 'other') return false;
  if (RAY.test(grammar)) return true;
  return (
    exception === null && (grammar === MPI || (first.role === 'secondary' && exit_code !== null && exit_code !== 0))
  );
}

/** `worldSize`: as the settings have it; without it, the ranks that the reports list. */
export function verdictOfExit(
  failure: LogIncident,
  incidents: readonly LogIncident[],
  worldSize: number | null,
  evidence: Verdict['evidence'],
): Verdict {
  const { rank, local_rank: localRank, host, pid, exit_code: code, kind, grammar } = failure;
  const isKilled = kind === 'killed';
  const { all, signalled } = listedRanks(incidents.filter(({ attempt }) => attempt === failure.attempt));
  const ranks = worldSize ?? (all.size > 1 ? all.size : null);
  const isOfRanks = rank !== null && ranks !== null && rank < ranks;
  const process: Figures = {
    numbers: known({ rank, local_rank: rank === null ? localRank : null, pid }),
    names: named({ host }),
  };
  const summary = statement('first_exit', {
    numbers: {
      ...process.numbers,
      ...known({ ranks: isOfRanks ? ranks : null, exit_code: code, signalled: signalled.size || null }),
    },
    names: {
      ...process.names,
      ...named({
        listed: worldSize === null ? 'listed' : null,
        killed: isKilled ? 'killed' : null,
        guessed: RAY.test(grammar) ? 'guessed' : null,
      }),
    },
  });
  const isNamed = !isKilled && (rank !== null || localRank !== null || pid !== null);
  const capture = isNamed ? 'output_of_rank' : 'logs_of_all_ranks';
  return {
    ...UNDECIDED,
    rank,
    summary,
    evidence,
    missing: [isNamed ? 'first_exit_output' : 'run_end'],
    captures: capturesFor(
      isKilled
        ? [{ cause: 'host_oom', capture: 'host_memory' }]
        : [
            { cause: 'not_oom', capture },
            { cause: 'host_oom', capture },
          ],
    ),
    steps: stepsOf([isNamed ? { kind: 'name_its_log', ...process } : 'name_all_logs']),
  };
}

/** Of one range; a log can print any number. */
const MOST_TASKS = 65_536;
const SIGTERM = -15;

/** The ranks that reports of launchers and of Slurm list, and those of them that SIGTERM ended. */
function listedRanks(incidents: readonly LogIncident[]): { all: Set<number>; signalled: Set<number> } {
  const all = new Set<number>();
  const signalled = new Set<number>();
  for (const { rank, grammar, text, exit_code: code } of incidents) {
    const tasks = grammar === 'slurm.task_end' ? TASKS.exec(text)?.[1] : undefined;
    const isSignalled = code === SIGTERM || (tasks !== undefined && text.endsWith(': Terminated'));
    const ranks = tasks === undefined ? (rank === null ? [] : [rank]) : tasks.split(',').flatMap(ranksOf);
    for (const listed of ranks) {
      all.add(listed);
      if (isSignalled) signalled.add(listed);
    }
  }
  return { all, signalled };
}

/** `0-5`, `7`. */
function ranksOf(range: string): number[] {
  const [from, to = from] = range.trim().split('-').map(Number);
  return Array.from({ length: Math.min(Math.max(to! - from! + 1, 0), MOST_TASKS) }, (_, i) => from! + i);
}
