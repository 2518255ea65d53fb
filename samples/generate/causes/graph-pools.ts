/**
 * The passes of an iteration are captured as CUDA graphs into a private pool. Afterwards nearly all of the pool is
 * free, but only replays may use it; what then runs eagerly, an evaluation or a batch of a shape that was not captured,
 * asks the default pool and finds the device full.
 */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan, SimulatedRank } from '../run.js';
import { between, createRandom, deriveSeed, type Random, wholeBetween } from '../simulate/random.js';
import type { RankContext, RankHooks } from '../simulate/rank-context.js';
import type { AttemptOptions } from '../simulate/simulate-attempt.js';
import { failedRanks, holesIn, type OomArithmetic, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { fitPlan, ranksOf } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { probe } from './probe.js';
import { search } from './search.js';
import { drawFirstIteration, fixedPattern, type Pattern } from './workload.js';

const NAME = 'graph-pools';
/** What is missing without the pool: more than the rounding of a message. */
const LEAST_SHORTFALL_BYTES = 48 * MIB;

export const graphPools: GeneratedCause = {
  name: NAME,
  title: "a CUDA graph's private pool holds free memory that nothing else may use",
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

/** Eager for `warmUp` steps, then captured once and replayed; eager again at `eagerStep`. */
function capturedPasses(warmUp: number, eagerStep: number | null): RankHooks {
  return {
    aroundPasses: (rank, { step }, run) => {
      const { process } = rank;
      if (step < warmUp || step === eagerStep) run();
      else if (step === warmUp) capture(rank, run);
      // A replay allocates nothing.
      else process.pass(30_000);
    },
  };
}

/** `torch.cuda.graph`: the cache is emptied, then the capture stream's requests go to a pool of their own. */
function capture({ process, sites }: RankContext, run: () => void): void {
  const { allocator } = process;
  const stream = process.newStream();
  allocator.flush({ frames: sites.outer.schedule }, process.now());
  const pool = allocator.createPool({ kind: 'user' });
  allocator.beginCapture(pool, stream);
  process.withStream(stream, run);
  allocator.endCapture(pool);
  process.pass(1_500_000);
}

/** Free bytes of private pools. */
function idleInPools(rank: { readonly process: RankContext['process'] }): number {
  return holesIn(rank.process.allocator.snapshot(), ({ poolId }) => poolId[0] !== 0 || poolId[1] !== 0).totalBytes;
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const warmUp = wholeBetween(random, 1, 2);
  const steps = warmUp + 1 + wholeBetween(random, 0, 2);
  // What runs eagerly in the end: an evaluation after the steps, or one more step of another shape.
  const evaluates = createRandom(deriveSeed(NAME, seed))() < 0.5;
  const drawn = drawPlan(random, draw, {
    stateShare: [0.1, 0.5],
    // Replays leave no trace.
    steps: warmUp + (evaluates ? 1 : 2),
    recompute: ['none', 'selective', 'none'],
    torch: ['2.6', '2.8', '2.12'],
    allocConf: [null, null, 'expandable_segments:True'],
  });
  if (drawn === undefined) return undefined;
  const firstIteration = drawFirstIteration(random, drawn);
  const configured: RunPlan = {
    ...drawn,
    configuration: {
      'model.cuda_graph_impl': evaluates ? 'full_iteration' : 'local',
      'model.cuda_graph_warmup_steps': warmUp,
      'rerun_state_machine.check_for_nan_in_loss': false,
      ...(evaluates
        ? { 'train.eval_interval': firstIteration + steps, 'train.eval_iters': wholeBetween(random, 1, 4) }
        : {}),
    },
    environment: { ...drawn.environment, NCCL_GRAPH_REGISTER: '0' },
  };
  const hooks = capturedPasses(warmUp, evaluates ? null : steps);
  const pattern = evaluates ? fixedPattern(configured, steps) : longestLast(configured, steps, between(random, 0.5, 1));
  const fit = fitPlan(random, configured, { pattern, ratio: [0.75, 0.99] });
  if (fit === undefined) return undefined;
  const options: AttemptOptions = {
    plan: fit.plan,
    firstIteration,
    workload: fit.workload,
    hooks,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  };
  const suspect = probe(
    options,
    fit.needs.map(({ rank }) => rank),
  ).find((rank) => decidedByPool(rank));
  if (suspect === undefined) return undefined;
  const plan = { ...fit.plan, profiledRanks: drawProfiledRanks(random, drawn, ranksOf(drawn, suspect.stage)) };
  const attempts = launches(random, { ...options, plan });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first) || first.iterations.length !== steps) return undefined;
  const decided = decidedByPool(first);
  if (decided === undefined) return undefined;
  const { sums, idle } = decided;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'graph_pools',
      detail: null,
      because:
        `On rank ${first.rank} ${gib(idle)} lay free in the pool of the captured iteration. What ran outside it asked for ${gib(sums.requestBytes)} with ` +
        `${gib(sums.liveBytes)} live: that fits the ${gib(sums.budgetBytes)} the process could have, but not without the pool's free memory.`,
      numbers: {
        idle_in_pools_bytes: idle,
        live_bytes: sums.liveBytes,
        request_bytes: sums.requestBytes,
        budget_bytes: sums.budgetBytes,
        spare_bytes: sums.spareBytes,
        outside_bytes: sums.outsideBytes,
      },
    },
  });
}

/** With the pool's free memory the request fits, without it it does not. */
function decidedByPool(rank: SimulatedRank): { readonly sums: OomArithmetic; readonly idle: number } | undefined {
  if (!ranOutOfMemory(rank)) return undefined;
  const sums = oomArithmetic(rank.ending.report);
  const idle = idleInPools(rank);
  if (sums.spareBytes < Math.max(256 * MIB, 0.01 * sums.budgetBytes)) return undefined;
  return sums.spareBytes - idle < -LEAST_SHORTFALL_BYTES ? { sums, idle } : undefined;
}

/** All steps of one length, and one more of full length. */
function longestLast(plan: RunPlan, steps: number, length: number): Pattern {
  const usual = fixedPattern(plan, steps).map((ranks) => ranks.map((lengths) => lengths.map(() => length)));
  return [...usual, ...fixedPattern(plan, 1)];
}
