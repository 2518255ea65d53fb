/** Nothing is wrong: the control. Near the device's limit now and then, so that a full device alone proves nothing. */
import type { GeneratedRun, RunPlan } from '../run.js';
import { chance, type Random, wholeBetween } from '../simulate/random.js';
import { simulateAttempt } from '../simulate/simulate-attempt.js';
import type { GeneratedCause } from './generated-cause.js';
import { gib } from './generated-cause.js';
import { anyProfiledRanks, healthyFit, StepDumps } from './healthy.js';
import { search } from './search.js';
import { drawFirstIteration } from './workload.js';

const NAME = 'no-oom';

export const noOom: GeneratedCause = {
  name: NAME,
  title: 'the run completes: no failure at all',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 3, 6);
  const fit = healthyFit(random, draw, { steps }, [0.35, 0.96]);
  if (fit === undefined) return undefined;
  const firstIteration = drawFirstIteration(random, fit.plan);
  const saves = chance(random, 0.4);
  const evaluated: RunPlan['configuration'] = chance(random, 0.3)
    ? { 'train.eval_interval': firstIteration + steps, 'train.eval_iters': 1 }
    : {};
  const plan = {
    ...fit.plan,
    trainIterations: firstIteration + steps,
    saveInterval: saves ? 1000 : null,
    configuration: evaluated,
    profiledRanks: anyProfiledRanks(random, fit.plan),
  };
  const dumps = new StepDumps(wholeBetween(random, 1, steps - 1));
  const attempt = simulateAttempt({
    plan,
    firstIteration,
    workload: fit.workload,
    hooks: { afterIteration: dumps.hook },
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  });
  if (attempt.ranks.some(({ ending }) => ending.kind !== 'completed')) return undefined;
  const peak = Math.max(...attempt.ranks.map(({ process }) => process.allocator.statistics.allocatedBytes.peak));
  return {
    causeName: NAME,
    seed,
    attempts: [attempt],
    snapshots: dumps.snapshots([attempt]),
    truth: {
      cause: 'not_oom',
      detail: null,
      isOom: false,
      firstFailingRank: null,
      because: `All ${attempt.ranks.length} ranks completed ${steps} steps; no rank ever had more than ${gib(peak)} of ${gib(fit.budgetBytes)} live.`,
      numbers: { peak_live_bytes: peak, budget_bytes: fit.budgetBytes, completed_steps: steps },
    },
  };
}
