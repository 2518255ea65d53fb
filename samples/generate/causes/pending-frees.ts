/**
 * Large buffers are freed while another stream still reads them (`record_stream`). The next request cannot have them,
 * the driver has no memory, and torch then waits for the stream, but does not search its own free blocks again: it
 * fails although a block that fits has just become free. Upstream: torch `DeviceCachingAllocator::malloc`; issue
 * 189504.
 */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan, SimulatedRank } from '../run.js';
import { scriptDirectory } from '../simulate/call-sites/index.js';
import { at } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import { chunksPerStage, layersPerChunk } from '../simulate/model-parameters.js';
import { between, chance, type Random, wholeBetween } from '../simulate/random.js';
import type { RankContext, RankHooks } from '../simulate/rank-context.js';
import { type AttemptOptions, simulateAttempt } from '../simulate/simulate-attempt.js';
import { failedRanks, type OomArithmetic, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { fitPlan } from './fit.js';
import { freeByReason } from './fragmentation.js';
import { drawProfiledRanks, type GeneratedCause, gib, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { probe } from './probe.js';
import { search } from './search.js';
import { rankAt, withNeed } from './trial.js';
import { drawFirstIteration, variedPattern } from './workload.js';

const NAME = 'pending-frees';

export const pendingFrees: GeneratedCause = {
  name: NAME,
  title: 'freed blocks still in use by another stream are missing when they are needed',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

/** What is copied to the host on a stream of its own after every micro-batch. */
interface CopiedTensor {
  readonly bytesPerToken: (rank: RankContext) => number;
  readonly isOn: (rank: RankContext, chunk: number) => boolean;
  readonly path: (rank: RankContext) => CallPath;
}

const LOGITS: CopiedTensor = {
  bytesPerToken: ({ sizes }) => sizes.logits,
  isOn: ({ plan, position }, chunk) =>
    position.stage === plan.parallelism.pipeline - 1 && chunk === chunksPerStage(plan.parallelism) - 1,
  path: (rank) => {
    const file = `${scriptDirectory(rank.plan)}distillation_targets.py`;
    return [
      at('offload_logits', file, 83, 'staged = output_tensor.detach().to(torch.bfloat16)'),
      at('loss_func', file, 47, 'self.offload_logits(output_tensor)'),
      ...rank.sites.training.schedule.forwardStep,
    ];
  },
};

const HIDDEN_STATES: CopiedTensor = {
  bytesPerToken: ({ sizes, plan }) => sizes.hidden * layersPerChunk(plan),
  isOn: () => true,
  path: (rank) => {
    const file = `${scriptDirectory(rank.plan)}activation_export.py`;
    return [
      at('export', file, 66, 'stacked = torch.stack(self.hidden_states)'),
      at('on_forward_end', file, 38, 'self.export()'),
      ...rank.sites.training.schedule.forwardStep,
    ];
  },
};

/** What each rank had freed and the other stream not yet finished, by rank; one per simulation. */
type PendingBytes = Map<number, number>;

function copying(tensor: CopiedTensor, records: boolean, pending: PendingBytes): RankHooks {
  const streams = new WeakMap<RankContext, number>();
  const streamOf = (rank: RankContext): number => {
    const stream = streams.get(rank) ?? rank.process.newStream();
    streams.set(rank, stream);
    return stream;
  };
  return {
    afterForward: (rank, { tokens, chunk }) => {
      if (!tensor.isOn(rank, chunk)) return;
      const { process, position } = rank;
      const copy = process.malloc(tokens * tensor.bytesPerToken(rank), tensor.path(rank));
      if (records) {
        process.allocator.recordStream(copy, streamOf(rank));
        pending.set(position.rank, (pending.get(position.rank) ?? 0) + copy.sizeBytes);
      }
      process.free(copy);
    },
    // The host is far ahead of the device within a step; the optimizer's gradient norm makes it wait.
    beforeOptimizer: (rank) => {
      if (!records) return;
      rank.process.allocator.finishStream(streamOf(rank));
      pending.set(rank.position.rank, 0);
    },
  };
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 4);
  const tensor = chance(random, 0.5) ? LOGITS : HIDDEN_STATES;
  const drawn = drawPlan(random, draw, {
    // The moments must be many enough to pin what the first step leaves cached.
    stateShare: [0.3, 0.75],
    steps,
    where: (model, { data }) => data <= 2 && (tensor !== LOGITS || model.vocabulary > 100_000),
    // Pages of expandable segments go back to the driver after the wait, and the request succeeds.
    allocConf: [null],
  });
  if (drawn === undefined) return undefined;
  const shorter = between(random, 0.5, 0.95);
  const pattern = variedPattern(drawn, steps, random, shorter - 0.1, shorter).map((ranks, step) =>
    step > 0 ? ranks : ranks.map((lengths) => lengths.map(() => 1)),
  );
  const fit = fitPlan(random, drawn, { pattern, ratio: [0.87, 0.99], hooks: copying(tensor, false, new Map()) });
  if (fit === undefined) return undefined;
  const { stage } = fit.heaviest;
  const environment = { ...fit.plan.environment, TORCH_NCCL_AVOID_RECORD_STREAMS: '0' };
  const options = (plan: RunPlan, records: boolean, pending: PendingBytes): AttemptOptions => ({
    plan,
    firstIteration,
    workload: fit.workload,
    hooks: copying(tensor, records, pending),
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const firstIteration = drawFirstIteration(random, fit.plan);
  const oneOfEach = Array.from({ length: drawn.parallelism.data }, (_, dataRank) => rankAt(drawn, stage, dataRank));
  const probed: PendingBytes = new Map();
  const suspects = probe(options(fit.plan, true, probed), oneOfEach).filter((rank) => decidedByPending(rank, probed));
  if (suspects.length === 0) return undefined;
  // The same requests without record_stream are all served.
  const suspect = suspects[0]!.rank;
  if (probe(options(fit.plan, false, new Map()), [suspect])[0]!.ending.kind !== 'completed') return undefined;
  const plan: RunPlan = {
    ...fit.plan,
    environment,
    profiledRanks: drawProfiledRanks(
      random,
      drawn,
      suspects.map(({ rank }) => rank),
    ),
  };
  const pending: PendingBytes = new Map();
  const attempts = [withNeed(simulateAttempt(options(plan, true, pending)), options(plan, false, new Map()))];
  const { ranks } = attempts[0]!;
  const first = failedRanks(ranks)[0];
  const decided = first === undefined ? undefined : decidedByPending(first, pending);
  // Only a snapshot shows the wait, so a recorded rank must have met it.
  const recorded = ranks.some((rank) => plan.profiledRanks.includes(rank.rank) && decidedByPending(rank, pending));
  if (first === undefined || decided === undefined || !recorded) return undefined;
  const { sums, pendingBytes, largestBytes } = decided;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'synchronisation',
      detail: null,
      because:
        `On rank ${first.rank} ${gib(pendingBytes)} had been freed but were still read by another stream when ${gib(sums.requestBytes)} were asked; ` +
        `once torch had waited, a free block of ${gib(largestBytes)} was there and not used. Without record_stream the same requests are served.`,
      numbers: {
        pending_bytes: pendingBytes,
        live_bytes: sums.liveBytes,
        request_bytes: sums.requestBytes,
        budget_bytes: sums.budgetBytes,
        spare_bytes: sums.spareBytes,
        largest_usable_after_wait_bytes: largestBytes,
        outside_bytes: sums.outsideBytes,
      },
    },
  });
}

interface DecidedByPending {
  readonly sums: OomArithmetic;
  readonly pendingBytes: number;
  readonly largestBytes: number;
}

/**
 * Live and request fit, and a block that fits was free when the request was refused: only the wait can have freed it.
 */
function decidedByPending(rank: SimulatedRank, pending: PendingBytes): DecidedByPending | undefined {
  if (!ranOutOfMemory(rank)) return undefined;
  const sums = oomArithmetic(rank.ending.report);
  const pendingBytes = pending.get(rank.rank) ?? 0;
  const largestBytes = freeByReason(rank).usable.largestBytes;
  const fits = sums.spareBytes > Math.max(256 * MIB, 0.01 * sums.budgetBytes);
  return fits && pendingBytes > 0 && largestBytes >= sums.requestBytes
    ? { sums, pendingBytes, largestBytes }
    : undefined;
}
