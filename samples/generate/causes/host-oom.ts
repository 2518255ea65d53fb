/**
 * Host memory runs out, not the device's: offloaded optimizer state, pinned buffers, data-loader workers, or /dev/shm.
 */
import { GIB, KIB } from '../../../src/model/units.js';
import type { CauseDetail } from '../../../src/model/vocabulary.js';
import type { GeneratedRun, RunPlan } from '../run.js';
import { at, PACKAGES } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import { between, chance, pick, type Random, wholeBetween } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { positionOf, type RankContext, worldSize } from '../simulate/rank-context.js';
import { RankRaised, RankSignalled } from '../simulate/rank-process.js';
import { simulateAttempt } from '../simulate/simulate-attempt.js';
import { failedRanks } from './arithmetic.js';
import { type GeneratedCause, gib } from './generated-cause.js';
import { anyProfiledRanks, healthyFit, StepDumps } from './healthy.js';
import { search } from './search.js';
import { drawFirstIteration } from './workload.js';

const NAME = 'host-oom';

export const hostOom: GeneratedCause = {
  name: NAME,
  title: 'host memory runs out: offload, pinned buffers, data loading or shared memory',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

interface HostStory {
  readonly detail: CauseDetail;
  readonly because: string;
  readonly configuration: RunPlan['configuration'];
  /** The victim fails at this step. */
  readonly hooks: (random: Random, victim: number, step: number) => RankHooks;
}

const OFFLOAD: HostStory = {
  detail: 'cgroup',
  because: "optimizer state offloaded to the host filled the job's memory control group, and the kernel killed a rank",
  configuration: {
    'optimizer.optimizer_cpu_offload': true,
    'optimizer.optimizer_offload_fraction': 1,
    'optimizer.use_precision_aware_optimizer': true,
  },
  hooks: (random, victim, step) => {
    const lines = killLines(random, victim);
    return {
      beforeOptimizer: (rank, point) => {
        if (point.step === step && rank.position.rank === victim) killed(rank, lines);
      },
    };
  },
};

const CHECKPOINT_STAGING: HostStory = {
  ...OFFLOAD,
  because: "a checkpoint's host copies filled the job's memory control group, and the kernel killed a rank",
  configuration: { 'checkpoint.async_save': true },
  hooks: (random, victim, step) => {
    const lines = killLines(random, victim);
    return {
      atCheckpoint: (rank, point) => {
        if (point.step === step && rank.position.rank === victim) killed(rank, lines);
      },
    };
  },
};

const WORKERS: HostStory = {
  detail: 'dataloader',
  because: 'data-loader workers filled the host memory until the kernel killed one of them',
  configuration: { 'dataset.num_workers': 16 },
  hooks: (random, victim, step) => {
    const pid = wholeBetween(random, 3000, 400_000);
    const text = `RuntimeError: DataLoader worker (pid ${pid}) is killed by signal: Killed. `;
    return loaderFailure(victim, step, text);
  },
};

const SHARED_MEMORY: HostStory = {
  detail: 'shm',
  because: 'batches in flight between data-loader workers and their rank filled /dev/shm',
  configuration: { 'dataset.num_workers': 24 },
  hooks: (random, victim, step) => {
    const pid = wholeBetween(random, 3000, 400_000);
    const text =
      `RuntimeError: DataLoader worker (pid ${pid}) is killed by signal: Bus error. It is possible that dataloader's workers are out of ` +
      'shared memory. Please try to raise your shared memory limit.';
    return loaderFailure(victim, step, text);
  },
};

function loaderFailure(victim: number, step: number, text: string): RankHooks {
  return {
    beforeForward: (rank, point) => {
      if (point.step === step && rank.position.rank === victim) throw new RankRaised(text, loaderPath(rank));
    },
  };
}

/** Where the handler of SIGCHLD finds the main thread: waiting for the next batch. */
function loaderPath(rank: RankContext): CallPath {
  const loader = `${PACKAGES}torch/utils/data/dataloader.py`;
  return [
    at('handler', `${PACKAGES}torch/utils/data/_utils/signal_handling.py`, 73, '_error_if_any_worker_fails()'),
    at('_try_get_data', loader, 1275, 'data = self._data_queue.get(timeout=timeout)'),
    at('_get_data', loader, 1430, 'success, data = self._try_get_data()'),
    at('_next_data', loader, 1491, 'idx, data = self._get_data()'),
    at('__next__', loader, 732, 'data = self._next_data()'),
    ...rank.sites.training.model.batch,
  ];
}

interface KillLine {
  readonly text: string;
  readonly afterUs: number;
}

/** What Slurm, and sometimes the kernel's log, say about it. */
function killLines(random: Random, victim: number): KillLine[] {
  const slurm = pick(random, [
    'slurmstepd: error: Detected 1 oom_kill event in StepId={job}.0. Some of the step tasks have been OOM Killed.',
    'slurmstepd: error: Detected 1 oom-kill event(s) in StepId={job}.0 cgroup. Some of your processes may have been killed by the cgroup ' +
      'out-of-memory handler.',
  ]);
  const lines: KillLine[] = [];
  if (chance(random, 0.6)) {
    const stamp = `[${wholeBetween(random, 90_000, 9_000_000)}.${String(wholeBetween(random, 0, 999_999)).padStart(6, '0')}]`;
    const resident = Math.round((between(random, 90, 420) * GIB) / KIB);
    const virtual = Math.round(resident * between(random, 1.2, 1.9));
    lines.push({
      afterUs: 1000,
      text:
        `${stamp} Memory cgroup out of memory: Killed process {pid:${victim}} (python) total-vm:${virtual}kB, anon-rss:${resident}kB, ` +
        `file-rss:${wholeBetween(random, 60_000, 900_000)}kB, shmem-rss:${wholeBetween(random, 1000, 9_000_000)}kB, ` +
        `UID:${wholeBetween(random, 1000, 60_000)} pgtables:${Math.round(resident / 480)}kB oom_score_adj:0`,
    });
  }
  lines.push({ afterUs: 3_800_000, text: slurm });
  return lines;
}

function killed(rank: RankContext, lines: readonly KillLine[]): never {
  rank.process.pass(900_000);
  for (const { text, afterUs } of lines) rank.addLine(text, 'system', afterUs);
  throw new RankSignalled('SIGKILL');
}

const STORIES: readonly HostStory[] = [OFFLOAD, OFFLOAD, CHECKPOINT_STAGING, WORKERS, SHARED_MEMORY];

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 4);
  const story = pick(random, STORIES);
  const fit = healthyFit(random, draw, { steps });
  if (fit === undefined) return undefined;
  const victim = wholeBetween(random, 0, worldSize(fit.plan) - 1);
  // Only ranks that read data have loaders.
  const { stage } = positionOf(fit.plan, victim);
  const reads = stage === 0 || stage === fit.plan.parallelism.pipeline - 1;
  if (story.detail !== 'cgroup' && !reads) return undefined;
  const savesAtEnd = story === CHECKPOINT_STAGING;
  const firstIteration = savesAtEnd ? steps * wholeBetween(random, 0, 30) : drawFirstIteration(random, fit.plan);
  const plan: RunPlan = {
    ...fit.plan,
    saveInterval: savesAtEnd ? steps : null,
    trainIterations: Math.max(fit.plan.trainIterations, firstIteration + 10 * steps),
    configuration: story.configuration,
    profiledRanks: anyProfiledRanks(random, fit.plan),
  };
  const dumps = new StepDumps(0);
  const attempt = simulateAttempt({
    plan,
    firstIteration,
    workload: fit.workload,
    hooks: { ...story.hooks(random, victim, steps - 1), afterIteration: dumps.hook },
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const failed = failedRanks(attempt.ranks);
  if (failed.length !== 1 || failed[0]!.rank !== victim) return undefined;
  const { statistics } = failed[0]!.process.allocator;
  return {
    causeName: NAME,
    seed,
    attempts: [attempt],
    snapshots: dumps.snapshots([attempt]),
    truth: {
      cause: 'host_oom',
      detail: story.detail,
      isOom: true,
      firstFailingRank: victim,
      because:
        `On the host of rank ${victim} ${story.because}; its device was fine, with at most ${gib(statistics.allocatedBytes.peak)} of ` +
        `${gib(fit.budgetBytes)} live.`,
      numbers: {
        peak_live_bytes: statistics.allocatedBytes.peak,
        budget_bytes: fit.budgetBytes,
        completed_steps: failed[0]!.iterations.length,
      },
    },
  };
}
