/** Which failure came first, as the verbs over text rows report it. */

import type { FirstFailureResult } from '../../model/first-failure.js';
import { pick } from '../../model/pick.js';
import type { LogIncident } from '../../model/results/log.js';
import { type FailureCandidate, firstFailure } from './first-failure.js';

type Candidate = FailureCandidate & { readonly index: number };

function candidateOf(incident: LogIncident, index: number): Candidate {
  return {
    index,
    ...pick(incident, ['kind', 'rank', 'file', 'line', 'grammar', 'exception', 'text', 'survived']),
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
  return {
    kind: first.kind,
    role: failure.first.role,
    ...pick(first, ['rank', 'host', 'device', 'attempt', 'time', 'file', 'line']),
    incident: index,
    why: failure.basis,
    also_failed: ranksOf(failure.alsoFailed).filter((rank) => rank !== first.rank),
    victims: failure.victims,
    secondary: failure.secondary.length,
  };
}
