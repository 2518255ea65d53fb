/** Which failure came first, as the verbs over text rows report it. */

import type { FirstFailureResult } from '../../model/first-failure.js';
import { pick } from '../../model/pick.js';
import type { LogIncident } from '../../model/results/log.js';
import { type FailureCandidate, firstFailure } from './first-failure.js';

/** Where its worker ran, in the message of Ray's ActorDiedError. */
const RAY_WORKER = /^\s{1,8}ip: ([\da-f.:]{2,45})$/m;
/** The value that all have who have one. */
function only<T>(values: readonly (T | null)[]): T | null {
  const [value = null, ...others] = new Set(values.filter((one) => one !== null));
  return others.length === 0 ? value : null;
}

type Candidate = FailureCandidate & { readonly index: number };

/** Field by field: of ten thousand incidents, copying lists of names takes half a second. */
function candidateOf(incident: LogIncident, index: number): Candidate {
  const { kind, rank, file, line, grammar, exception, text, survived } = incident;
  return {
    ...{ index, kind, rank, file, line, grammar, exception, text, survived },
    exitCode: incident.exit_code,
    attempt: incident.attempt ?? 1,
    timeUs: incident.time_us,
    // The attempt's last iteration does not show when this one failed.
    iteration: incident.iteration_origin === 'same file' ? incident.iteration : null,
  };
}

const ranksOf = (candidates: readonly Candidate[]): number[] => [
  ...new Set(candidates.flatMap(({ rank }) => (rank === null ? [] : [rank]))),
];

/** Null where nothing failed. `attempt`: the launch asked about; without it, the last one that failed. */
export function readFirstFailure(incidents: readonly LogIncident[], attempt?: number): FirstFailureResult | null {
  const failure = firstFailure(
    incidents.flatMap((incident, i) =>
      incident.copy_of === null && (attempt === undefined || (incident.attempt ?? 1) === attempt)
        ? [candidateOf(incident, i)]
        : [],
    ),
  );
  if (failure.first === null) return null;
  const { index } = failure.first.incident;
  const first = incidents[index]!;
  const inLaunch = incidents.filter(({ attempt: of }) => of === first.attempt);
  // Slurm counts the processes that were killed for their memory on one line, and names their tasks on others.
  const alike = first.is_oom ? inLaunch.filter(({ kind }) => kind === first.kind) : [];
  const rank = first.rank ?? only(alike.map((other) => other.rank));
  const ofRank = rank === null ? alike : inLaunch.filter((other) => other.rank === rank);
  const host = first.host ?? RAY_WORKER.exec(first.text)?.[1] ?? only(ofRank.map((other) => other.host));
  return {
    kind: first.kind,
    role: failure.first.role,
    ...{ rank, host },
    ...pick(first, ['device', 'attempt', 'time', 'file', 'line']),
    incident: index,
    why: failure.basis,
    also_failed: ranksOf(failure.alsoFailed).filter((rank) => rank !== first.rank),
    victims: failure.victims,
    secondary: failure.secondary.length,
  };
}
