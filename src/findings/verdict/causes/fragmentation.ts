/** Words for memory that is free, but not in one piece that the request may use. */
import { formatBytes, formatCount } from '../../../model/units.js';
import type { OomFacts } from '../facts.js';
import { type Answer, type CauseWords, numberOf, type Step } from './words.js';

const UNNECESSARY = 'expandable_segments:True makes it unnecessary';

export const fragmentation: CauseWords = (answer, facts, evidence) => {
  const bytes = (name: string): string => formatBytes(numberOf(answer, name));
  switch (answer.reason) {
    case 'figures_missing':
      return { text: 'allocated, reserved and free bytes (a snapshot at the OOM, or the whole message)' };
    case 'slack_unknown':
      return {
        text: `a snapshot: with max_split_size_mb, more than the ${bytes('short_bytes')} missing may lie unused inside blocks that were handed out whole`,
      };
    case 'too_little_free': {
      const cached = formatBytes(Math.max(0, numberOf(answer, 'cached_bytes')));
      return { text: `only ${cached} of the reserve are free: too little even in one piece` };
    }
    case 'free_in_pools_only':
      return { text: 'what is free lies in private pools: too little elsewhere even in one piece' };
    case 'device_had_more':
      return { text: 'a snapshot: the device had more free than was asked, which a message alone cannot explain' };
    case 'within_rounding':
      return { text: 'exact figures: it fits or not within the rounding of the message' };
    case 'block_fits':
      return { text: `a free block of ${bytes('largest_usable_bytes')} would have served the request` };
    case 'oversize_slack':
      evidence.add(
        `${bytes('oversize_slack_bytes')} inside live blocks of at least max_split_size were never asked for; without them the request fits`,
        facts.allocated!.source,
      );
      return {
        text: `max_split_size_mb hands oversize blocks out whole: ${bytes('oversize_slack_bytes')} of what is live was never asked for`,
        next: [{ text: 'lower max_non_split_rounding_mb, or drop max_split_size_mb', orExpandable: UNNECESSARY }],
      };
    case 'kept_for_larger':
      evidence.add(
        `a free block of ${bytes('largest_usable_bytes')} exists, but max_split_size_mb reserves it for larger requests`,
        facts.reserved!.source,
      );
      return {
        text: 'max_split_size_mb kept a block that fits out of reach',
        next: [{ text: 'raise or drop max_split_size_mb', orExpandable: UNNECESSARY }],
      };
    case 'free_in_pieces':
      evidence.add(
        `${bytes('cached_bytes')} are reserved by PyTorch but free; with the device's free memory that is ${bytes('spare_bytes')} more than was asked`,
        facts.reserved!.source,
      );
      return {
        text: `${bytes('cached_bytes')} are free inside PyTorch and the request still failed: no piece of it was large enough`,
        next: nextSteps(answer, facts),
        doubts: doubtWords(answer, facts),
      };
  }
  evidence.add(
    `${bytes('live_bytes')} live + ${bytes('request_bytes')} asked fit the ${bytes('limit_bytes')} this process could have; ${bytes('cached_bytes')} of it are free in pieces`,
    facts.reserved!.source,
  );
  const free = facts.free!;
  if (free.pinnedSegments > 0) {
    evidence.add(
      `${formatCount(free.pinnedSegments)} segments cannot go back to the driver: ${formatBytes(free.pinningBytes)} of live blocks sit in them`,
      facts.reserved!.source,
    );
  }
  return {
    text: `enough is free inside PyTorch, but not in one piece: ${bytes('request_bytes')} asked, largest usable piece ${bytes('largest_usable_bytes')}`,
    next: nextSteps(answer, facts),
    doubts: doubtWords(answer, facts),
  };
};

function doubtWords(answer: Answer, { allowed, deviceFree, trace }: OomFacts): string[] {
  return answer.doubts.map((doubt) => {
    switch (doubt) {
      case 'nearly_full':
        return `even in one piece only ${formatBytes(numberOf(answer, 'spare_bytes'))} of ${formatBytes(numberOf(answer, 'limit_bytes'))} would be left: the device is as good as full`;
      case 'fraction_refused':
        return `a memory fraction allows ${formatBytes(allowed!.bytes)}, and the device itself had ${formatBytes(deviceFree!.bytes)} free: without that limit the request is served`;
      case 'checkpoint_of_unknown_size':
        return 'a checkpoint was in the making, whose copies would have grown on';
      case 'checkpoint_in_the_making':
        return `${formatBytes(trace!.activityBytes)} are copies of a checkpoint in the making, which would have grown on`;
    }
    throw new Error(`no words for the doubt ${doubt}`);
  });
}

function nextSteps({ detail }: Answer, facts: OomFacts): (string | Step)[] {
  if (facts.allocator?.expandableSegments === true) {
    return [
      "expandable segments are already on: PyTorch's own hint does not apply",
      'see what pins the segments with `mbforensics peak`; free or move those buffers, or make the request smaller',
    ];
  }
  const steps: (string | Step)[] = [
    {
      text: 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True on every rank, at no throughput cost (not with NCCL user buffers; with CUDA graphs also NCCL_GRAPH_REGISTER=0)',
      isExpandable: true,
    },
  ];
  if (facts.allocator === null) steps.unshift('check that expandable segments are not on already: no snapshot says so');
  if (detail === 'other_stream')
    steps.push('allocate on the stream that frees: memory of another stream is never reused');
  return steps;
}
