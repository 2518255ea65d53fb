/** Words for a device that live memory and the request exceed. */
import type { Place } from '../../../model/place.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import type { EvidenceLog, OomFacts } from '../facts.js';
import { type Answer, type CauseWords, numberOf, type Words } from './words.js';

/** For a device that is simply full, the advice is the same whatever the details. */
const LOWER_LIVE = 'no allocator setting can help here; see what is live with `mbforensics peak`, then lower that';
const RAISE_FRACTION =
  'raise the memory fraction (set_per_process_memory_fraction), or find who needs the rest of the device';

export const capacity: CauseWords = (answer, facts, evidence) => {
  const bytes = (name: string): string => formatBytes(numberOf(answer, name));
  switch (answer.reason) {
    case 'figures_missing':
      return { text: 'allocated, reserved and free bytes (a snapshot at the OOM, or the whole message)' };
    case 'within_rounding': {
      const isShort = answer.numbers['short_bytes'] !== undefined;
      return {
        text: `exact figures: ${bytes(isShort ? 'short_bytes' : 'spare_bytes')} ${isShort ? 'short' : 'to spare'} is below the message's rounding`,
      };
    }
    case 'slack_unknown':
      return {
        text: `a snapshot: max_split_size_mb is set, and how much of what is live was never asked for (blocks handed out whole) may be more than the ${bytes('short_bytes')} missing`,
      };
    case 'fits':
      return { text: fitsWords(answer, 0) };
    case 'fits_without_slack':
      return {
        text: `${fitsWords(answer, numberOf(answer, 'oversize_slack_bytes'))}, were it not for the slack of oversize blocks`,
      };
    case 'beyond_device': {
      const request = facts.request!;
      evidence.add(`${formatBytes(request.bytes)} asked of a device of ${bytes('total_bytes')}`, request.source);
      return {
        text: `the request of ${formatBytes(request.bytes)} is larger than the whole device`,
        next: ['suspect a shape, not memory: look at the tensor this call makes'],
      };
    }
    case 'device_exceeded':
      evidence.add(
        `${bytes('live_bytes')} live + ${bytes('request_bytes')} asked exceed the whole device of ${bytes('total_bytes')}`,
        facts.allocated!.source,
      );
      return {
        text: `the device is full: ${bytes('short_bytes')} short of what is live and asked`,
        next: ['no allocator setting can help here; lower what is live, or ask for less at once'],
      };
    case 'full_but_for_pools':
      evidence.add(
        `${bytes('live_bytes')} live + ${bytes('request_bytes')} asked leave ${bytes('spare_bytes')} of ${bytes('limit_bytes')}, less than the ${bytes('idle_in_pools_bytes')} that are free inside private pools`,
        facts.allocated!.source,
      );
      return {
        text: `the device is full: even with what private pools hold free, only ${bytes('spare_bytes')} would be left`,
        next: [LOWER_LIVE],
      };
    case 'hidden_limit':
      evidence.add(
        `the device had ${bytes('device_free_bytes')} free when ${bytes('segment_bytes')} were asked of it: a limit refused, not the device`,
        facts.deviceFree!.source,
      );
      return {
        text: `a limit of the process is used up (a memory fraction, most likely): the device itself had ${bytes('device_free_bytes')} free`,
        next: [RAISE_FRACTION],
      };
  }
  const limit =
    answer.reason === 'fraction' ? 'its memory fraction allows' : 'this process could have (reserved + device free)';
  evidence.add(
    `${bytes('live_bytes')} live + ${bytes('request_bytes')} asked exceed the ${bytes('limit_bytes')} ${limit} by ${bytes('short_bytes')}`,
    facts.allocated!.source,
  );
  return detailWords(answer, facts, evidence);
};

function fitsWords(answer: Answer, slackBytes: number): string {
  const bytes = numberOf(answer, 'live_bytes') + numberOf(answer, 'request_bytes') - slackBytes;
  return `${formatBytes(bytes)} live and asked fit the ${formatBytes(numberOf(answer, 'limit_bytes'))} this process could have`;
}

/** What was done when it failed, and advice for that. */
const ACTIVITIES = {
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
} as const;

function detailWords(answer: Answer, facts: OomFacts, evidence: EvidenceLog): Words {
  const bytes = (name: string): string => formatBytes(numberOf(answer, name));
  const short = bytes('short_bytes');
  const { trace, run } = facts;
  const source = trace?.activity == null ? (run?.activitySource ?? facts.allocated!.source) : trace.source;
  switch (answer.reason) {
    case 'fraction':
      return { text: `the process's memory fraction is used up: ${short} short`, next: [RAISE_FRACTION] };
    case 'rounding':
      evidence.add(
        `${bytes('rounding_waste_bytes')} of what is live was never asked for: roundup_power2_divisions rounded the blocks up`,
        facts.roundingWaste!.source,
      );
      return {
        text: `roundup_power2_divisions takes ${bytes('rounding_waste_bytes')}; without that rounding the request fits`,
        next: ['use more divisions, or drop roundup_power2_divisions: then blocks are rounded to 512 bytes only'],
      };
    case 'optimizer_states': {
      // Not a spike: the memory stays. But the summary must explain why the first step's forward and backward passed.
      const what = "the optimizer's states, born in the first optimizer step";
      evidence.add(`it failed while making ${what}`, source);
      return {
        text: `the device is full while ${what}, are made: at least ${short} short`,
        next: [
          'shard the optimizer (use_distributed_optimizer), keep its states in lower precision, or offload them: they stay from then on',
        ],
      };
    }
    case 'checkpoint':
    case 'full_in_checkpoint':
      return checkpointWords(answer, facts, evidence, source);
    case 'logits': {
      const spike = bytes('spike_bytes');
      const size = trace?.activity === 'logits_loss' ? `they hold and ask ${spike}` : `the request alone is ${spike}`;
      const passed = (trace?.steps?.length ?? 0) + (trace?.hasEarlierStates === true ? 1 : 0);
      const completed = formatCount(Math.max(passed, run?.completed ?? 0));
      const before = bytes('highest_before_bytes');
      evidence.add(
        `it failed in logits and loss: ${size}; in the ${completed} steps before no more than ${before} were live at once`,
        source,
      );
      return {
        text: `logits and loss of one micro-batch take ${spike} for a moment; steps before needed ${before} at most of ${bytes('limit_bytes')}`,
        next: [
          'make logits and loss smaller for a moment: a fused or chunked cross entropy, shorter sequences or smaller micro-batches, more tensor parallelism',
        ],
      };
    }
    case 'one_tensor': {
      const where = facts.requestSite === null ? '' : ` in ${facts.requestSite}`;
      evidence.add(
        `one tensor of ${bytes('spike_bytes')}${where}; without it ${bytes('live_bytes')} are live`,
        facts.allocated!.source,
      );
      return {
        text: `one tensor of ${bytes('spike_bytes')} is what does not fit: at least ${short} short`,
        next: [
          'look at the shape of the tensor this call makes; compute it in parts, or shorten the sequence or the micro-batch',
        ],
      };
    }
    case 'stage':
      return stageWords(answer, facts, evidence);
  }
  return {
    text: `the device is full: at least ${short} short even if every cached byte were usable`,
    next: [LOWER_LIVE],
  };
}

function checkpointWords(answer: Answer, { trace, run }: OomFacts, evidence: EvidenceLog, source: Place): Words {
  const activity = (trace?.activity ?? run?.activity) as keyof typeof ACTIVITIES;
  const { what, next } = ACTIVITIES[activity];
  const short = formatBytes(numberOf(answer, 'short_bytes'));
  if (answer.reason === 'full_in_checkpoint') {
    // The size of the copies among the live memory is unknown; that the failure was outside a training step is known.
    evidence.add(`it failed while ${what}`, source);
    return { text: `the device is full while ${what}: at least ${short} short`, next };
  }
  const spikeBytes = numberOf(answer, 'spike_bytes');
  const otherBytes = numberOf(answer, 'live_bytes') + numberOf(answer, 'request_bytes') - spikeBytes;
  const held = trace?.activityBytes;
  const size =
    held === undefined ? '' : ` ${formatBytes(spikeBytes)} are its own, ${formatBytes(otherBytes)} everything else.`;
  evidence.add(`it failed while ${what}.${size}`, source);
  const copiedBytes = answer.numbers['second_copies_bytes'];
  if (copiedBytes !== undefined) {
    evidence.add(
      `${formatBytes(copiedBytes)} of them are second copies: block by block as large as something that is live already`,
      source,
    );
  }
  return {
    text: `${what} takes ${formatBytes(spikeBytes)} more${held === undefined ? ' at the least' : ''} than training leaves: at least ${short} short`,
    next,
  };
}

function stageWords(answer: Answer, { run }: OomFacts, evidence: EvidenceLog): Words {
  const fullest = run!.ownStage!;
  const next = run!.otherStages.reduce((best, stage) => (stage.bytes > best.bytes ? stage : best));
  evidence.add(
    `stage ${fullest.stage} of ${formatCount(run!.stages!)} held ${formatBytes(fullest.bytes)} at its peak (rank ${fullest.rank}), of the other stages none more than ${formatBytes(next.bytes)} (stage ${next.stage}, rank ${next.rank}) in the same iterations`,
    run!.source!,
  );
  return {
    text: `pipeline stage ${fullest.stage} is full while others have room: at least ${formatBytes(numberOf(answer, 'short_bytes'))} short there`,
    next: [
      'move work off that stage: fewer layers on it (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split, or a pipeline layout of your own)',
      'the first stages hold the most micro-batches in flight: recompute there, or more pipeline stages',
    ],
  };
}
