/**
 * A short-lived working set (logits and loss, a checkpoint's copies, one huge tensor) on top of a steady level that
 * fits.
 */
import { maxOf } from '../../../model/lists.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import type { Activity } from '../../stacks/activity.js';
import type { EvidenceLog, OomFacts, Sums } from '../facts.js';
import { COPIED_SHARE, LARGE_REQUEST_SHARE, STEADY_SHARE, STEADY_STEPS } from '../thresholds.js';
import type { CapacityDetail } from './capacity-detail.js';
import { fullerStage } from './capacity-imbalance.js';

/** Words and advice for each activity. */
const WORDS: Readonly<Record<Activity, { readonly what: string; readonly next: readonly string[] }>> = {
  checkpoint_save: {
    what: 'saving a checkpoint',
    next: [
      'save without gathering on one device: a sharded format (torch_dist) with fully parallel saving, or gather over Gloo on the host',
      'training itself fits: only the copies made for the checkpoint do not',
    ],
  },
  checkpoint_load: {
    what: 'loading a checkpoint',
    next: [
      'load to the host first (map_location="cpu"), or into the tensors that exist; a second copy of weights or optimizer states must not stay on the device',
    ],
  },
  logits_loss: {
    what: 'logits and loss',
    next: [
      'make logits and loss smaller for a moment: a fused or chunked cross entropy, shorter sequences or smaller micro-batches, more tensor parallelism',
    ],
  },
  optimizer_init: {
    what: "the optimizer's states, born in the first optimizer step",
    next: [
      'shard the optimizer (use_distributed_optimizer), keep its states in lower precision, or offload them: they stay from then on',
    ],
  },
};

export function spikeOf(facts: OomFacts, sum: Sums, evidence: EvidenceLog): CapacityDetail | null {
  const activity = facts.trace?.activity ?? facts.run?.activity ?? null;
  const source = facts.trace?.activity == null ? (facts.run?.activitySource ?? sum.source) : facts.trace.source;
  if (activity === 'optimizer_init') return firstStep(sum, evidence, source);
  if (activity === 'checkpoint_save' || activity === 'checkpoint_load')
    return checkpoint(facts, sum, evidence, activity, source);
  // Where every replica of a stage fails alike, it is the stage and not one long sequence.
  const alike = facts.run?.severalReplicas === true && fullerStage(facts) !== null;
  if (activity === 'logits_loss' && !alike) {
    const detail = working(facts, sum, evidence, source);
    if (detail !== null) return detail;
  }
  return oneTensor(facts, sum, evidence);
}

/** Not a spike: the memory stays. But the summary must explain why the first step's forward and backward passed. */
function firstStep(sum: Sums, evidence: EvidenceLog, source: string): CapacityDetail {
  const { what, next } = WORDS.optimizer_init;
  evidence.add(`it failed while making ${what}`, source);
  return {
    detail: null,
    summary: `the device is full while ${what}, are made: at least ${formatBytes(sum.shortBytes)} short`,
    next,
    numbers: {},
  };
}

function checkpoint(
  facts: OomFacts,
  sum: Sums,
  evidence: EvidenceLog,
  activity: 'checkpoint_save' | 'checkpoint_load',
  source: string,
): CapacityDetail | null {
  const { what, next } = WORDS[activity];
  const held = facts.trace?.activityBytes ?? null;
  const copied = facts.trace?.copiedBytes ?? 0;
  const spike = (held ?? 0) + sum.needBytes;
  const otherBytes = sum.liveBytes + sum.needBytes - spike;
  const completed = Math.max(facts.run?.completed ?? 0, facts.trace?.steps?.length ?? 0);
  // A save comes after steps that fitted. Before the first step, or while loading, the copies have to be visible.
  const fits = held !== null ? otherBytes <= sum.limitBytes : activity === 'checkpoint_save' && completed > 0;
  if (!fits) {
    // The size of the copies among the live memory is unknown; that the failure was outside a training step is known.
    evidence.add(`it failed while ${what}`, source);
    return {
      detail: null,
      summary: `the device is full while ${what}: at least ${formatBytes(sum.shortBytes)} short`,
      next,
      numbers: {},
    };
  }
  const size = held === null ? '' : ` ${formatBytes(spike)} are its own, ${formatBytes(otherBytes)} everything else.`;
  evidence.add(`it failed while ${what}.${size}`, source);
  if (held !== null && held > 0 && copied >= COPIED_SHARE * held) {
    evidence.add(
      `${formatBytes(copied)} of them are second copies: block by block as large as something that is live already`,
      source,
    );
  }
  return {
    detail: 'transient_spike',
    summary: `${what} takes ${formatBytes(spike)} more${held === null ? ' at the least' : ''} than training leaves: at least ${formatBytes(sum.shortBytes)} short`,
    next,
    numbers: { spike_bytes: spike, copied_bytes: copied },
  };
}

/** Logits and loss: only where earlier steps, with the optimizer's states live, had plenty of free memory. */
function working(facts: OomFacts, sum: Sums, evidence: EvidenceLog, source: string): CapacityDetail | null {
  const { trace, run } = facts;
  const passed = trace?.steps ?? [];
  const completed = Math.max(passed.length + (trace?.hasEarlierStates === true ? 1 : 0), run?.completed ?? 0);
  if (completed < STEADY_STEPS) return null;
  const steadyLimit = STEADY_SHARE * sum.limitBytes;
  const peaks = passed.map((step) => step.peakBytes);
  const before = peaks.length > 0 ? maxOf(peaks) : (run?.highest?.bytes ?? null);
  if (before === null || before > steadyLimit) return null;
  const held = trace?.activity === 'logits_loss' ? trace.activityBytes : null;
  const spike = (held ?? 0) + sum.needBytes;
  const otherBytes = sum.liveBytes + sum.needBytes - spike;
  if (held !== null && otherBytes > steadyLimit) return null;
  const { what, next } = WORDS.logits_loss;
  const size = held === null ? `the request alone is ${formatBytes(spike)}` : `they hold and ask ${formatBytes(spike)}`;
  evidence.add(
    `it failed in ${what}: ${size}; in the ${formatCount(completed)} steps before no more than ${formatBytes(before)} were live at once`,
    source,
  );
  return {
    detail: 'transient_spike',
    summary: `${what} of one micro-batch take ${formatBytes(spike)} for a moment; steps before needed ${formatBytes(before)} at most of ${formatBytes(sum.limitBytes)}`,
    next,
    numbers: { spike_bytes: spike, highest_before_bytes: before },
  };
}

/** One tensor so large that without it plenty of memory would be free. */
function oneTensor(facts: OomFacts, sum: Sums, evidence: EvidenceLog): CapacityDetail | null {
  // Before the first step is over, large tensors are buffers that stay.
  if ((facts.run?.completed ?? 0) === 0 && (facts.trace?.steps ?? []).length === 0) return null;
  const isLarge = sum.needBytes >= LARGE_REQUEST_SHARE * sum.limitBytes;
  if (!isLarge || sum.liveBytes > STEADY_SHARE * sum.limitBytes) return null;
  const where = facts.requestSite === null ? '' : ` in ${facts.requestSite}`;
  const need = formatBytes(sum.needBytes);
  evidence.add(`one tensor of ${need}${where}; without it ${formatBytes(sum.liveBytes)} are live`, sum.source);
  return {
    detail: 'transient_spike',
    summary: `one tensor of ${need} is what does not fit: at least ${formatBytes(sum.shortBytes)} short`,
    next: [
      'look at the shape of the tensor this call makes; compute it in parts, or shorten the sequence or the micro-batch',
    ],
    numbers: { spike_bytes: sum.needBytes },
  };
}
