/** One pipeline stage carries more than the others: its device is full, theirs have room. */
import { formatBytes, formatCount } from '../../model/units.js';
import type { CapacityDetail } from './capacity.js';
import type { EvidenceLog, OomFacts, Sums } from './facts.js';
import { OTHER_STAGE_SHARE } from './thresholds.js';

export function imbalanceOf({ run }: OomFacts, sum: Sums, evidence: Pick<EvidenceLog, 'add'>): CapacityDetail | null {
  if (run == null || run.stage === null || run.stages === null || run.stages < 2 || !run.onlyThisStage) return null;
  const { otherStages, ownStage } = run;
  if (otherStages.length === 0 || ownStage === null) return null;
  const most = otherStages.reduce((best, stage) => (stage.bytes > best.bytes ? stage : best));
  // Compared at the same iterations, as printed: what failed came later, and with it the others' share would have grown too.
  if (most.bytes > OTHER_STAGE_SHARE * ownStage.bytes) return null;
  evidence.add(
    `stage ${run.stage} of ${formatCount(run.stages)} held ${formatBytes(ownStage.bytes)} at its peak (rank ${ownStage.rank}), of the other stages none more than ${formatBytes(most.bytes)} (stage ${most.stage}, rank ${most.rank}) in the same iterations`,
    run.source,
  );
  return {
    detail: 'imbalance',
    summary: `pipeline stage ${run.stage} is full while others have room: at least ${formatBytes(sum.shortBytes)} short there`,
    next: [
      'move work off that stage: fewer layers on it (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split, or a pipeline layout of your own)',
      'the first stages hold the most micro-batches in flight: recompute there, or more pipeline stages',
    ],
    numbers: {
      own_stage_bytes: ownStage.bytes,
      next_stage_bytes: most.bytes,
      failing_stage: run.stage,
      stages: run.stages,
    },
  };
}
