/** One tensor larger than the whole device: attention scores, or a mask, with the square of a long sequence. */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan } from '../run.js';
import { scriptDirectory } from '../simulate/call-sites/index.js';
import { at, MODULE_CALL } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import { between, chance, type Random, wholeBetween } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { microBatchCount, type RankContext } from '../simulate/rank-context.js';
import { FP32 } from '../simulate/tensor-sizes.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { ranksOf } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawOutside, drawPlan } from './population.js';
import { search } from './search.js';
import { trial } from './trial.js';
import { drawFirstIteration, roundSequence, swapDataRanks, tokensOf, variedPattern, withLength } from './workload.js';

const NAME = 'impossible-request';

export const impossibleRequest: GeneratedCause = {
  name: NAME,
  title: 'one tensor is larger than the whole device',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

/** What grows with the square of the sequence, and how. */
interface SquareTensor {
  readonly bytesPerPair: (plan: RunPlan) => number;
  readonly hooks: (bytesPerPair: number) => RankHooks;
  readonly configuration: RunPlan['configuration'];
}

/** Scores of attention without a fused kernel: bf16, every local head. */
const SCORES: SquareTensor = {
  bytesPerPair: ({ microBatchSize, model, parallelism }) => (2 * microBatchSize * model.heads) / parallelism.tensor,
  hooks: (bytesPerPair) => ({
    afterForwardLayer: (rank, { tokens }) => squareTensor(rank, tokens, bytesPerPair, scoresPath(rank)),
  }),
  configuration: { 'model.attention_backend': 'local' },
};

/** A dense lower-triangular mask, built in fp32 before it becomes one of booleans. */
const MASK: SquareTensor = {
  bytesPerPair: ({ microBatchSize }) => FP32 * microBatchSize,
  hooks: (bytesPerPair) => ({
    beforeForward: (rank, { tokens, chunk }) => {
      const isFirst = rank.position.stage === 0 && chunk === 0;
      if (isFirst) squareTensor(rank, tokens, bytesPerPair, maskPath(rank));
    },
  }),
  configuration: { 'dataset.create_attention_mask': true },
};

function squareTensor(rank: RankContext, tokens: number, bytesPerPair: number, path: CallPath): void {
  const sequence = tokens / rank.plan.microBatchSize;
  rank.process.free(rank.process.malloc(bytesPerPair * sequence ** 2, path));
}

function scoresPath(rank: RankContext): CallPath {
  const { core, training } = rank.sites;
  const layer = training.layer.attention.slice(
    training.layer.attention.findIndex(({ name }) => name === '_forward_attention'),
  );
  return [
    at('forward', `${core}transformer/dot_product_attention.py`, 172, 'matmul_result = torch.baddbmm('),
    ...MODULE_CALL,
    at('forward', `${core}transformer/attention.py`, 791, 'core_attn_out = self.core_attention('),
    ...MODULE_CALL,
    ...layer,
  ];
}

function maskPath(rank: RankContext): CallPath {
  const file = `${scriptDirectory(rank.plan)}long_context_data.py`;
  return [
    at(
      'get_ltor_masks_and_position_ids',
      file,
      88,
      'attention_mask = torch.tril(torch.ones((micro_batch, seq, seq), device=data.device))',
    ),
    at('get_batch', file, 121, 'attention_mask, loss_mask, position_ids = get_ltor_masks_and_position_ids('),
    ...rank.sites.training.model.batch.slice(1),
  ];
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 1, 3);
  const kind = chance(random, 0.6) ? SCORES : MASK;
  const drawn = drawPlan(random, draw, {
    stateShare: [0.15, 0.6],
    steps,
    recompute: ['selective', 'full'],
    traceEntries: 9000,
  });
  if (drawn === undefined) return undefined;
  const bytesPerPair = kind.bytesPerPair(drawn);
  const wanted = drawn.gpu.totalBytes * between(random, 1.05, 2.6);
  const sequenceLength = roundSequence(Math.sqrt(wanted / bytesPerPair));
  if (sequenceLength < 4096 || sequenceLength > 270_000) return undefined;
  const requestBytes = bytesPerPair * sequenceLength ** 2;
  if (requestBytes < 1.02 * drawn.gpu.totalBytes) return undefined;
  const outside = drawOutside(random, drawn);
  // Until then all sequences are short enough for their own squares.
  const usual = variedPattern({ ...drawn, sequenceLength }, steps, random, 0.02, 0.25);
  const hooks = kind.hooks(bytesPerPair);
  const shaped: RunPlan = {
    ...drawn,
    sequenceLength,
    configuration: kind.configuration,
    environment:
      kind === SCORES ? { ...drawn.environment, NVTE_FUSED_ATTN: '0', NVTE_FLASH_ATTN: '0' } : drawn.environment,
  };
  const budget = drawn.gpu.totalBytes - outside.trainingBytes;
  const needs = trial({ plan: shaped, hooks, workload: tokensOf(shaped, usual) });
  if (needs.some(({ peakBytes }) => peakBytes.at(-1)! > 0.85 * budget)) return undefined;
  const microBatch = wholeBetween(random, 0, microBatchCount(drawn) - 1);
  const dataRank = wholeBetween(random, 0, drawn.parallelism.data - 1);
  const pattern = swapDataRanks(withLength(usual, steps - 1, 0, microBatch, 1), 0, dataRank);
  const plan: RunPlan = {
    ...shaped,
    profiledRanks: drawProfiledRanks(
      random,
      drawn,
      ranksOf(drawn, 0).filter((rank) => {
        return Math.floor(rank / drawn.parallelism.tensor) % drawn.parallelism.data === dataRank || chance(random, 0.1);
      }),
    ),
  };
  const attempts = launches(random, {
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: tokensOf(plan, pattern),
    hooks,
    conditions: () => ({ outside, otherProcesses: [] }),
  });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first)) return undefined;
  const sums = oomArithmetic(first.ending.report);
  const { deviceTotalBytes } = first.ending.report;
  if (sums.requestBytes < deviceTotalBytes + 256 * MIB) return undefined;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'capacity',
      detail: 'impossible_request',
      because:
        `Rank ${first.rank} asked for one tensor of ${gib(sums.requestBytes)}, which grows with the square of the sequence length of ` +
        `${sequenceLength}, on a device of ${gib(deviceTotalBytes)}.`,
      numbers: {
        request_bytes: sums.requestBytes,
        device_total_bytes: deviceTotalBytes,
        live_bytes: sums.liveBytes,
        budget_bytes: sums.budgetBytes,
        sequence_length_tokens: sequenceLength,
      },
    },
  });
}
