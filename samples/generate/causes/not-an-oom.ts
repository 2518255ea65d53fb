/**
 * A failure that is no memory failure, though some of its words look like one: a hung collective, a stray pointer, a
 * kernel too large.
 */
import type { GeneratedRun, RunPlan } from '../run.js';
import { scriptDirectory } from '../simulate/call-sites/index.js';
import { AUTOGRAD, at, PACKAGES } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import { isAmpere } from '../simulate/gpu-kind.js';
import { pick, type Random, wholeBetween } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { microBatchCount, type RankContext, worldSize } from '../simulate/rank-context.js';
import { RankRaised, RankSignalled } from '../simulate/rank-process.js';
import { simulateAttempt } from '../simulate/simulate-attempt.js';
import { failedRanks } from './arithmetic.js';
import type { GeneratedCause } from './generated-cause.js';
import { anyProfiledRanks, healthyFit, StepDumps } from './healthy.js';
import { search } from './search.js';
import { drawFirstIteration } from './workload.js';

const NAME = 'not-an-oom';

export const notAnOom: GeneratedCause = {
  name: NAME,
  title: 'a hung collective, an illegal memory access, or a Triton kernel too large for the chip',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

interface Failure {
  readonly name: string;
  readonly because: string;
  readonly hooks: (random: Random, plan: RunPlan, step: number) => RankHooks;
}

const FAILURES: readonly Failure[] = [
  {
    name: 'nccl_timeout',
    because: 'One rank never reached a collective; the watchdogs of the others ended them after the timeout.',
    hooks: hungCollective,
  },
  {
    name: 'illegal_access',
    because: 'A kernel of one rank read beyond its tensor.',
    hooks: illegalAccess,
  },
  {
    name: 'triton_resources',
    because: "A Triton kernel asks for more of a multiprocessor's on-chip memory than there is.",
    hooks: tooLargeKernel,
  },
];

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const failure = FAILURES[((seed % FAILURES.length) + FAILURES.length) % FAILURES.length]!;
  const steps = wholeBetween(random, 2, 4);
  const fit = healthyFit(random, draw, { steps });
  if (fit === undefined) return undefined;
  const plan: RunPlan = { ...fit.plan, profiledRanks: anyProfiledRanks(random, fit.plan) };
  const dumps = new StepDumps(0);
  const attempt = simulateAttempt({
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: fit.workload,
    hooks: { ...failure.hooks(random, plan, steps - 1), afterIteration: dumps.hook },
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const failed = failedRanks(attempt.ranks);
  if (failed.length === 0 || failed.some(({ ending }) => ending.kind === 'oom')) return undefined;
  const first = failed[0]!;
  const { statistics } = first.process.allocator;
  return {
    causeName: NAME,
    seed,
    attempts: [attempt],
    snapshots: dumps.snapshots([attempt]),
    truth: {
      cause: 'not_oom',
      detail: null,
      isOom: false,
      firstFailingRank: first.rank,
      because: failure.because,
      numbers: {
        peak_live_bytes: statistics.allocatedBytes.peak,
        budget_bytes: fit.budgetBytes,
        completed_steps: first.iterations.length,
      },
    },
  };
}

/** `1121 02:00:23.123456789`: glog's time, month and day first. */
function glogTime(us: number): string {
  const text = new Date(us / 1000).toISOString();
  const fraction = String(Math.floor(us % 1_000_000)).padStart(6, '0');
  return `${text.slice(5, 7)}${text.slice(8, 10)} ${text.slice(11, 19)}.${fraction}417`;
}

/** One rank never reaches a collective of that step; the watchdogs of the others end them. */
export function hungCollective(random: Random, plan: RunPlan, step: number): RankHooks {
  const culprit = wholeBetween(random, 0, worldSize(plan) - 1);
  const timeoutMs = pick(random, [600_000, 600_000, 1_800_000]);
  const sequence = wholeBetween(random, 700, 90_000);
  const operation = pick(random, ['_REDUCE_SCATTER_BASE', 'ALLREDUCE', '_ALLGATHER_BASE']);
  return {
    beforeOptimizer: (rank, at) => {
      if (at.step !== step || rank.position.rank === culprit) return;
      const { process, position, random: chanceOfRank } = rank;
      const ran = timeoutMs + Math.floor(10 + chanceOfRank() * 90);
      process.pass(ran * 1000);
      const elements = Math.floor(4096 + chanceOfRank() * 9e8);
      const where = `[rank${position.rank}]:[E${glogTime(process.now())} ProcessGroupNCCL.cpp`;
      const group = `[PG ID 2 PG GUID ${9 + position.tensorRank}(DATA_PARALLEL_GROUP) Rank ${position.dataRank}]`;
      const work =
        `Watchdog caught collective operation timeout: WorkNCCL(SeqNum=${sequence}, OpType=${operation}, NumelIn=${elements}, ` +
        `NumelOut=${elements}, Timeout(ms)=${timeoutMs}) ran for ${ran} milliseconds before timing out.`;
      rank.addLine(`${where}:632] [Rank ${position.dataRank}] ${work}`);
      rank.addLine(
        `${where}:2268] ${group} failure detected by watchdog at work sequence id: ${sequence} PG status: last enqueued work: ` +
          `${sequence + 2}, last completed work: ${sequence - 1}`,
      );
      rank.addLine(
        `${where}:684] [Rank ${position.dataRank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA ` +
          'kernels, subsequent GPU operations might run on corrupted/incomplete data.',
      );
      rank.addLine(
        `${where}:1895] ${group} Process group watchdog thread terminated with exception: [Rank ${position.dataRank}] ${work}\n` +
          "terminate called after throwing an instance of 'c10::DistBackendError'\n" +
          `  what():  ${group} Process group watchdog thread terminated with exception: [Rank ${position.dataRank}] ${work}`,
        'rank',
        400,
      );
      process.pass(1200);
      throw new RankSignalled('SIGABRT');
    },
  };
}

function illegalAccess(random: Random, plan: RunPlan, step: number): RankHooks {
  const culprit = wholeBetween(random, 0, worldSize(plan) - 1);
  const type = ['2.0', '2.3', '2.6'].includes(plan.torch) ? 'RuntimeError' : 'torch.AcceleratorError';
  const search = type === 'RuntimeError' ? '' : SEARCH_HINT;
  const text =
    `${type}: CUDA error: an illegal memory access was encountered\n${search}` +
    'CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n' +
    'For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n' +
    'Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n';
  return {
    beforeOptimizer: (rank, { step: now }) => {
      if (now !== step || rank.position.rank !== culprit) return;
      throw new RankRaised(text, rank.sites.optimizer.gradientNorm);
    },
  };
}

const SEARCH_HINT =
  "Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n";

/** Bytes of shared memory a block may have: 163 KiB on A100, 227 KiB on Hopper. */
function sharedMemoryLimit(plan: RunPlan): number {
  return isAmpere(plan.gpu) ? 166_912 : 232_448;
}

/** The first call compiles and launches the kernel, on every rank alike. */
function tooLargeKernel(random: Random, plan: RunPlan): RankHooks {
  const limit = sharedMemoryLimit(plan);
  const required = pick(random, [262_144, 294_912, 393_216]);
  const microBatch = wholeBetween(random, 0, microBatchCount(plan) - 1);
  const inBackward = random() < 0.4;
  const text =
    `triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: ${required}, Hardware limit: ${limit}. Reducing block ` +
    'sizes or `num_stages` may help.';
  const fail = (rank: RankContext): never => {
    throw new RankRaised(text, [...KERNEL_LAUNCH, ...kernelCaller(rank, inBackward)]);
  };
  return inBackward
    ? {
        beforeBackward: (rank, { step, microBatch: now }) =>
          step === 1 && now === microBatch ? fail(rank) : undefined,
      }
    : {
        beforeForward: (rank, { step, microBatch: now }) => (step === 1 && now === microBatch ? fail(rank) : undefined),
      };
}

const KERNEL_LAUNCH: CallPath = [
  at('raise_', `${PACKAGES}triton/compiler/compiler.py`, 422, 'raise err'),
  at(
    '_init_handles',
    `${PACKAGES}triton/compiler/compiler.py`,
    461,
    'raise_(OutOfResources(self.metadata.shared, max_shared, "shared memory"))',
  ),
  at('__getattribute__', `${PACKAGES}triton/compiler/compiler.py`, 494, 'self._init_handles()'),
  at(
    'run',
    `${PACKAGES}triton/runtime/jit.py`,
    757,
    'kernel.run(grid_0, grid_1, grid_2, stream, kernel.function, kernel.packed_metadata,',
  ),
  at(
    '<lambda>',
    `${PACKAGES}triton/runtime/jit.py`,
    390,
    'return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)',
  ),
];

function kernelCaller(rank: RankContext, inBackward: boolean): CallPath {
  const file = `${scriptDirectory(rank.plan)}fused_rope_kernel.py`;
  if (inBackward) {
    const outer = rank.sites.training.schedule.backwardStep;
    return [at('backward', file, 96, '_rope_backward_kernel[grid]('), ...AUTOGRAD, ...outer];
  }
  return [at('forward', file, 61, '_rope_kernel[grid]('), ...rank.sites.training.model.embedding.slice(1)];
}
