/**
 * NCCL keeps taking device memory for new communicators and channels, past the allocator, until one of the two goes
 * without.
 */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan } from '../run.js';
import { at, PACKAGES } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import { between, chance, createRandom, deriveSeed, pick, type Random, wholeBetween } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { growOutside, microBatchCount, type RankContext, worldSize } from '../simulate/rank-context.js';
import { RankRaised } from '../simulate/rank-process.js';
import type { OutsideMemory } from '../simulate/simulate-attempt.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { fitPlan, ranksOf, runAlone } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan, ordinaryOutsideBytes } from './population.js';
import { search } from './search.js';
import { drawFirstIteration, fixedPattern, variedPattern } from './workload.js';

const NAME = 'nccl-growth';

export const ncclGrowth: GeneratedCause = {
  name: NAME,
  title: "NCCL's own buffers grow until the device is full",
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

const NCCL_VERSIONS = { '2.0': '2.17.1', '2.3': '2.20.5', '2.6': '2.21.5', '2.8': '2.27.3', '2.12': '2.29.2' } as const;

/** Each makes NCCL take more memory per communicator. */
const GREEDY_SETTINGS = [
  ['NCCL_MIN_NCHANNELS', '32'],
  ['NCCL_BUFFSIZE', '33554432'],
  ['NCCL_NVLS_ENABLE', '1'],
] as const;

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 3, 5);
  // Decided by the seed alone, or the easier of the two would be all there is.
  const torchFails = createRandom(deriveSeed(NAME, seed))() < 0.5;
  const drawn = drawPlan(random, draw, { stateShare: torchFails ? [0.08, 0.35] : [0.15, 0.6], steps });
  if (drawn === undefined) return undefined;
  const pattern =
    torchFails || chance(random, 0.5) ? variedPattern(drawn, steps, random, 0.1) : fixedPattern(drawn, steps);
  const fit = fitPlan(random, drawn, { pattern, ratio: torchFails ? [0.55, 0.85] : [0.4, 0.82] });
  if (fit === undefined) return undefined;
  const { stage, rank: heaviest } = fit.heaviest;
  const need = fit.heaviest.peakBytes.at(-1)!;
  const growth = Math.floor((fit.budgetBytes - need * between(random, torchFails ? 0.75 : 0.55, 0.98)) / MIB) * MIB;
  const ordinary = ordinaryOutsideBytes(drawn.gpu.totalBytes);
  if (growth < 1.6 * ordinary || growth > 0.35 * drawn.gpu.totalBytes) return undefined;
  if (runAlone(fit, heaviest).ending.kind !== 'completed') return undefined;
  // All at once with the first collectives, or group by group over the steps.
  const portions = torchFails || chance(random, 0.3) ? 1 : wholeBetween(random, 2, 6);
  const hooks = growingCommunicators(fit.outside, growth, portions, steps);
  const plan: RunPlan = {
    ...fit.plan,
    environment: {
      ...withoutKey(fit.plan.environment, 'NCCL_NVLS_ENABLE'),
      NCCL_DEBUG: 'INFO',
      ...Object.fromEntries([pick(random, GREEDY_SETTINGS)]),
    },
    profiledRanks: drawProfiledRanks(random, drawn, chance(random, 0.8) ? ranksOf(drawn, stage) : [0]),
  };
  const attempts = launches(random, {
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: fit.workload,
    hooks,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || (first.ending.kind === 'oom') !== torchFails) return undefined;
  const { totalBytes, freeBytes } = first.process.driver.memory();
  const { statistics } = first.process.allocator;
  const outsideBytes = totalBytes - freeBytes - statistics.reservedBytes.current;
  if (outsideBytes < 1.3 * ordinary) return undefined;
  const numbers: Record<string, number> = {
    outside_bytes: outsideBytes,
    ordinary_outside_bytes: ordinary,
    reserved_bytes: statistics.reservedBytes.current,
    live_bytes: statistics.allocatedBytes.current,
  };
  if (ranOutOfMemory(first)) {
    const sums = oomArithmetic(first.ending.report);
    if (sums.liveBytes + sums.requestBytes > totalBytes - ordinary) return undefined;
    Object.assign(numbers, { request_bytes: sums.requestBytes, budget_bytes: sums.budgetBytes });
  }
  const who = ranOutOfMemory(first) ? 'PyTorch found no room' : 'NCCL itself found no room';
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'external_pressure',
      detail: 'nccl',
      because:
        `${gib(outsideBytes)} of rank ${first.rank}'s device were NCCL's and the context's, ordinary are at most ${gib(ordinary)}; ${who}. ` +
        'With ordinary communicators the same steps complete.',
      numbers,
    },
  });
}

function withoutKey(environment: RunPlan['environment'], key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name !== key));
}

/**
 * `growth` in equal parts, one with each of the first micro-batches; where the device lacks space the collective fails.
 */
function growingCommunicators(outside: OutsideMemory, growth: number, portions: number, steps: number): RankHooks {
  return {
    afterForward: (rank, { step, microBatch, chunk }) => {
      if (chunk !== 0) return;
      const each = Math.max(1, Math.floor((steps * microBatchCount(rank.plan)) / (2 * portions)));
      const passed = step * microBatchCount(rank.plan) + microBatch;
      if (passed % each !== 0 || passed / each >= portions) return;
      const level = outside.trainingBytes + (growth * (passed / each + 1)) / portions;
      newCommunicator(rank, passed / each, Math.round(level / MIB) * MIB);
    },
  };
}

function newCommunicator(rank: RankContext, index: number, levelBytes: number): void {
  const { process, plan, position, random } = rank;
  const prefix = `{host}:{pid}:{pid} [${position.device}]`;
  if (growOutside(rank, levelBytes)) {
    const handle = `0x${(0x5a0000000000 + Math.floor(random() * 2 ** 32) * 16).toString(16)}`;
    rank.addLine(
      `${prefix} NCCL INFO ncclCommInitRankConfig comm ${handle} rank ${position.rank} nranks ${worldSize(plan)} cudaDev ${position.device} ` +
        `nvmlDev ${position.device} busId ${(0x1b + position.device * 0x10).toString(16)}000 commId 0x${index.toString(16).padStart(2, '0')}` +
        `${Math.floor(random() * 2 ** 32).toString(16)} - Init COMPLETE`,
    );
    return;
  }
  const size = pick(random, [4_194_304, 9_437_184, 10_485_760, 33_554_432]);
  const file = pick(random, ['transport/nvls.cc:254', 'include/alloc.h:245', 'transport/p2p.cc:214']);
  rank.addLine(
    `${prefix} ${file} NCCL WARN Cuda failure 2 'out of memory'\n` +
      `${prefix} ${file} NCCL WARN Failed to CUDA calloc ${size} bytes\n` +
      `${prefix} NCCL INFO transport.cc:197 -> 1\n${prefix} NCCL INFO init.cc:1358 -> 1\n${prefix} NCCL INFO group.cc:72 -> 1 [Async thread]`,
  );
  process.pass(40_000);
  throw new RankRaised(distBackendError(plan), collective(rank));
}

function distBackendError(plan: RunPlan): string {
  return (
    'torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, unhandled cuda error ' +
    `(run with NCCL_DEBUG=INFO for details), NCCL version ${NCCL_VERSIONS[plan.torch]}\n` +
    'ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n' +
    "Cuda failure 2 'out of memory'"
  );
}

/** The first collective of the new communicator: NCCL connects lazily. */
function collective(rank: RankContext): CallPath {
  const file = `${PACKAGES}torch/distributed/distributed_c10d.py`;
  return [
    at('all_reduce', file, 2810, 'work = group.allreduce([tensor], opts)'),
    at('wrapper', `${PACKAGES}torch/distributed/c10d_logger.py`, 81, 'return func(*args, **kwargs)'),
    at(
      'average_losses_across_data_parallel_group',
      `${rank.sites.core}utils.py`,
      611,
      'torch.distributed.all_reduce(averaged_losses, group=dp_group)',
    ),
    at(
      'forward_step_calc_loss',
      `${rank.sites.core}pipeline_parallel/schedules.py`,
      291,
      'outputs = loss_func(output_tensor)',
    ),
    ...rank.sites.training.schedule.forwardStep,
  ];
}
