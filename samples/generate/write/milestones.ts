/** When one attempt's launch, model build and training began, from the simulated clocks. */
import type { Attempt } from '../run.js';

export interface Milestones {
  /** The launcher starts. */
  readonly launchUs: number;
  /** The first rank allocates: torch.distributed and the parallel groups exist by then. */
  readonly buildUs: number;
  /** The last rank enters the training loop; null if one never did. */
  readonly trainingUs: number | null;
}

/**
 * Share of the setup that Python's imports and the process groups take, where no recording shows the first allocation.
 */
const IMPORT_SHARE = 0.6;

export function milestones(attempt: Attempt): Milestones {
  const launchUs = attempt.plan.startUs;
  const starts = attempt.ranks.map(({ trainingStartUs }) => trainingStartUs);
  const trainingUs = starts.reduce<number | null>(
    (latest, start) => (latest === null || start === null ? null : Math.max(latest, start)),
    0,
  );
  const firstAllocations = attempt.ranks.flatMap(({ process }) => process.trace[0]?.timeUs ?? []);
  const setupEndUs = trainingUs ?? Math.min(...attempt.ranks.map(({ endUs }) => endUs));
  const buildUs =
    firstAllocations.length > 0
      ? Math.min(...firstAllocations)
      : Math.round(launchUs + (setupEndUs - launchUs) * IMPORT_SHARE);
  return { launchUs, buildUs: Math.min(buildUs, setupEndUs), trainingUs };
}

/** The moment at `share` of the way from one to another. */
export function between(fromUs: number, toUs: number, share: number): number {
  return Math.round(fromUs + (toUs - fromUs) * share);
}
