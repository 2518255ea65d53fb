/**
 * Something keeps a tensor of every step: live memory at the same point of the step grows by the same amount until the
 * device is full.
 */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan, SimulatedRank } from '../run.js';
import { scriptDirectory } from '../simulate/call-sites/index.js';
import { at } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import { chunksPerStage } from '../simulate/model-parameters.js';
import { between, chance, pick, type Random, wholeBetween } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import { microBatchCount, type RankContext } from '../simulate/rank-context.js';
import { failedRanks, oomArithmetic, ranOutOfMemory } from './arithmetic.js';
import { capacityNumbers, LEAST_SHORTFALL_BYTES } from './capacity.js';
import { fitPlan, ranksOf, runAlone } from './fit.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { search } from './search.js';
import { drawFirstIteration, fixedPattern, variedPattern } from './workload.js';

const NAME = 'leak';

export const leak: GeneratedCause = {
  name: NAME,
  title: 'a tensor of every step is kept until the device is full',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

/** Who keeps what. */
interface Keeper {
  readonly when: 'afterForward' | 'afterIteration';
  /** Next to the training script. */
  readonly file: string;
  /** To the line that makes the kept tensor. */
  readonly path: (rank: RankContext, file: string) => CallPath;
}

/** A list that is never emptied, in code outside the framework. */
const KEEPERS: readonly Keeper[] = [
  {
    when: 'afterForward',
    file: 'activation_monitor.py',
    path: (rank, file) => [
      at('record', file, 58, 'self.history.append(hidden_states.float().clone())'),
      at('hook', file, 41, 'self.record(module, output)'),
      ...rank.sites.training.schedule.forwardStep,
    ],
  },
  {
    when: 'afterForward',
    file: 'token_metrics.py',
    path: (rank, file) => [
      at('collect', file, 77, 'self.outputs.append(output_tensor.detach().clone())'),
      at('forward_step', `${rank.sites.core}pipeline_parallel/schedules.py`, 418, 'metrics.collect(output_tensor)'),
      ...rank.sites.training.schedule.forwardStep.slice(1),
    ],
  },
  {
    when: 'afterIteration',
    file: 'ema_callback.py',
    path: (rank, file) => [
      at('on_step_end', file, 93, 'self.snapshots.append(buffer.detach().clone())'),
      ...rank.sites.outer.train,
    ],
  },
  {
    when: 'afterIteration',
    file: 'grad_stats.py',
    path: (rank, file) => [
      at('track_gradients', file, 34, 'self.grads.append(torch.cat([g.flatten() for g in grads]))'),
      at('on_step_end', file, 22, 'self.track_gradients(model)'),
      ...rank.sites.outer.train,
    ],
  },
];

/** Keeps `bytesPerStep` per step on `stages`; after every micro-batch in parts, or once a step. */
function keeping(keeper: Keeper, stages: ReadonlySet<number>, bytesPerStep: number): RankHooks {
  const keep = (rank: RankContext, bytes: number): void => {
    if (stages.has(rank.position.stage))
      rank.process.malloc(bytes, keeper.path(rank, `${scriptDirectory(rank.plan)}${keeper.file}`));
  };
  if (keeper.when === 'afterIteration') return { afterIteration: (rank) => keep(rank, bytesPerStep) };
  return {
    afterForward: (rank, { chunk }) => {
      if (chunk !== chunksPerStage(rank.plan.parallelism) - 1) return;
      keep(rank, Math.floor(bytesPerStep / microBatchCount(rank.plan)));
    },
  };
}

/** Live bytes born where the keeper keeps, reported by the file. */
function keptBytes({ process }: SimulatedRank, { file }: Keeper): number {
  let bytes = 0;
  for (const { blocks } of process.allocator.snapshot()) {
    for (const { state, stack, sizeBytes } of blocks) {
      if (state === 'active_allocated' && stack?.frames[0]?.filename.endsWith(`/${file}`)) bytes += sizeBytes;
    }
  }
  return bytes;
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const survived = wholeBetween(random, 4, 9);
  const steps = survived + 3;
  const drawn = drawPlan(random, draw, { stateShare: [0.15, 0.6], steps, traceEntries: 16_000 });
  if (drawn === undefined) return undefined;
  const pattern = chance(random, 0.15) ? variedPattern(drawn, steps, random, 0.6) : fixedPattern(drawn, steps);
  const fit = fitPlan(random, drawn, { pattern, ratio: [0.35, 0.8] });
  if (fit === undefined) return undefined;
  const { stage } = fit.heaviest;
  const peak = fit.heaviest.peakBytes.at(-1)!;
  const bytesPerStep = Math.floor((fit.budgetBytes - peak) / between(random, survived - 0.9, survived + 0.1));
  // Below a few MiB a step nobody would see it in so few steps; above a few GiB it is no leak but a second model.
  if (bytesPerStep < 200 * MIB || bytesPerStep > 8192 * MIB) return undefined;
  if (runAlone(fit, fit.heaviest.rank).ending.kind !== 'completed') return undefined;
  const stages = new Set(chance(random, 0.5) ? fit.needs.map((need) => need.stage) : [stage]);
  const keeper = pick(random, KEEPERS);
  const hooks = keeping(keeper, stages, bytesPerStep);
  const suspects = chance(random, 0.85) ? ranksOf(drawn, stage) : [0];
  const plan: RunPlan = { ...fit.plan, profiledRanks: drawProfiledRanks(random, drawn, suspects) };
  const attempts = launches(random, {
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: fit.workload,
    hooks,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  if (first === undefined || !ranOutOfMemory(first) || first.iterations.length < 4) return undefined;
  const sums = oomArithmetic(first.ending.report);
  if (-sums.spareBytes < LEAST_SHORTFALL_BYTES) return undefined;
  const growth = restingGrowth(first);
  const leaked = keptBytes(first, keeper);
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'leak',
      detail: null,
      because:
        `Rank ${first.rank} kept ${gib(bytesPerStep)} of every step; after ${first.iterations.length} steps ${gib(leaked)} of its live memory were ` +
        `that, and it was ${gib(-sums.spareBytes)} short of ${gib(sums.budgetBytes)}. Without it a step needs ${gib(peak)} and all steps complete.`,
      numbers: {
        ...capacityNumbers(sums),
        leaked_bytes_per_step: bytesPerStep,
        leaked_bytes: leaked,
        smallest_growth_bytes: Math.min(...growth),
        need_without_bytes: peak,
        completed_steps: first.iterations.length,
      },
    },
  });
}

/**
 * By how much live memory after a step exceeds that after the step before; the first step brings the optimizer's states
 * and is left out.
 */
function restingGrowth({ iterations }: SimulatedRank): number[] {
  return iterations.slice(2).map(({ memory }, i) => {
    return memory.allocatedBytes.current - iterations[i + 1]!.memory.allocatedBytes.current;
  });
}
