/** One pipeline stage uses more memory than the others: its device is full, theirs have free memory. */
import { formatBytes, formatCount } from '../../../model/units.js';
import type { EvidenceLog, OomFacts, StageMemory, Sums } from '../facts.js';
import { OTHER_STAGE_SHARE } from '../thresholds.js';
import type { CapacityDetail } from './capacity-detail.js';

/** The failing stage and the next fullest one, where it is clear that the first carries more. */
export function fullerStage({ run }: OomFacts): { readonly own: StageMemory; readonly next: StageMemory } | null {
  if (run == null || run.stage === null || run.stages === null || run.stages < 2 || !run.onlyThisStage) return null;
  const { otherStages, ownStage: own } = run;
  if (otherStages.length === 0 || own === null) return null;
  const next = otherStages.reduce((best, stage) => (stage.bytes > best.bytes ? stage : best));
  // Compared at the same iterations, as printed. The failure came later, and the other stages' memory would have grown
  // until then too.
  return next.bytes > OTHER_STAGE_SHARE * own.bytes ? null : { own, next };
}

export function imbalanceOf(facts: OomFacts, sum: Sums, evidence: EvidenceLog): CapacityDetail | null {
  const stages = fullerStage(facts);
  const run = facts.run;
  if (stages === null || run == null || run.stages === null) return null;
  const { own, next } = stages;
  evidence.add(
    `stage ${own.stage} of ${formatCount(run.stages)} held ${formatBytes(own.bytes)} at its peak (rank ${own.rank}), of the other stages none more than ${formatBytes(next.bytes)} (stage ${next.stage}, rank ${next.rank}) in the same iterations`,
    run.source,
  );
  return {
    detail: 'imbalance',
    summary: `pipeline stage ${own.stage} is full while others have room: at least ${formatBytes(sum.shortBytes)} short there`,
    next: [
      'move work off that stage: fewer layers on it (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split, or a pipeline layout of your own)',
      'the first stages hold the most micro-batches in flight: recompute there, or more pipeline stages',
    ],
    numbers: {
      own_stage_bytes: own.bytes,
      next_stage_bytes: next.bytes,
      failing_stage: own.stage,
      stages: run.stages,
    },
  };
}
