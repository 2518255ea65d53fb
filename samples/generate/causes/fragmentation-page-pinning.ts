/**
 * Expandable segments are on, and still memory is lost: physical memory comes and goes in pages of 20 MiB, and small
 * tensors that live on are spread so that nearly every page holds one. The rest of those pages cannot go back to the
 * driver, and is too small for anything large.
 */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan, SimulatedRank } from '../run.js';
import type { LayerForwardSites } from '../simulate/call-sites/index.js';
import { scriptDirectory } from '../simulate/call-sites/index.js';
import { at, MODULE_CALL } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import type { LayerModule } from '../simulate/hooks.js';
import { between, type Random, wholeBetween } from '../simulate/random.js';
import type { RankHooks } from '../simulate/rank-context.js';
import type { AttemptOptions } from '../simulate/simulate-attempt.js';
import { failedRanks, ranOutOfMemory } from './arithmetic.js';
import { fitPlan, ranksOf } from './fit.js';
import {
  type Fragmentation,
  fitsInSum,
  fragmentationNumbers,
  fragmentationOf,
  LEAST_UNUSABLE_BYTES,
} from './fragmentation.js';
import { drawProfiledRanks, type GeneratedCause, gib, launches, oomRun } from './generated-cause.js';
import { drawPlan } from './population.js';
import { probe } from './probe.js';
import { search } from './search.js';
import { drawFirstIteration, fixedPattern, type Pattern } from './workload.js';

const NAME = 'fragmentation-page-pinning';

export const fragmentationPagePinning: GeneratedCause = {
  name: NAME,
  title: 'with expandable segments, small live blocks pin pages of 20 MiB',
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

/**
 * A monitor looks at every submodule's output in the first step and keeps its small tensors until a report far away.
 */
function monitoring(bytes: number): RankHooks {
  return {
    afterModule: ({ process, sites, plan }, { step }, module) => {
      if (step > 0) return;
      const file = `${scriptDirectory(plan)}layer_statistics.py`;
      process.malloc(bytes, [
        at('observe', file, 71, 'self.pending[name].append(output.float().pow(2).mean(-1))'),
        at('hook', file, 52, 'self.observe(name, output)'),
        ...MODULE_CALL,
        ...callerOf(module, sites.training.layer),
      ]);
    },
  };
}

/** From the call of the submodule outwards. */
function callerOf(module: LayerModule, layer: LayerForwardSites): CallPath {
  const path = {
    linear_qkv: layer.qkv,
    core_attention: layer.attention,
    linear_proj: layer.proj,
    linear_fc1: layer.fc1,
    activation_func: layer.activation,
    linear_fc2: layer.fc2,
  }[module];
  return path.slice(path.findIndex(({ filename }) => /\/transformer\/(attention|mlp)\.py$/.test(filename)));
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 5);
  const drawn = drawPlan(random, draw, {
    stateShare: [0.12, 0.6],
    steps,
    recompute: ['none', 'selective'],
    allocConf: ['expandable_segments:True'],
    where: (model, { pipeline }) => model.layers / pipeline >= 8,
    traceEntries: 14_000,
  });
  if (drawn === undefined) return undefined;
  const bytes = Math.floor(between(random, 1.05, 3.2) * MIB);
  const hooks = monitoring(bytes);
  const fit = fitPlan(random, drawn, { pattern: growing(random, drawn, steps), ratio: [0.9, 0.985], hooks });
  if (fit === undefined) return undefined;
  const { stage, rank: heaviest } = fit.heaviest;
  const unprofiled: AttemptOptions = {
    plan: fit.plan,
    firstIteration: drawFirstIteration(random, fit.plan),
    workload: fit.workload,
    hooks,
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  };
  if (isOfThisCause(probe(unprofiled, [heaviest])[0]!) === undefined) return undefined;
  const plan: RunPlan = { ...fit.plan, profiledRanks: drawProfiledRanks(random, drawn, ranksOf(drawn, stage)) };
  const attempts = launches(random, { ...unprofiled, plan });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  const found = first === undefined ? undefined : isOfThisCause(first);
  if (first === undefined || !ranOutOfMemory(first) || found === undefined) return undefined;
  const { usable } = found.free;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'fragmentation',
      detail: 'page_pinning',
      because: `${fitsInSum(first, found)}, while ${gib(usable.totalBytes)} lie in ${usable.count} remainders of pages that small live blocks pin.`,
      numbers: { ...fragmentationNumbers(found), usable_holes_count: usable.count, pinning_block_bytes: bytes },
    },
  });
}

function isOfThisCause(rank: SimulatedRank): Fragmentation | undefined {
  if (!ranOutOfMemory(rank)) return undefined;
  const found = fragmentationOf(rank);
  if (found === undefined) return undefined;
  const { usable, otherStream, otherClass } = found.free;
  if (usable.totalBytes < LEAST_UNUSABLE_BYTES) return undefined;
  return usable.totalBytes > 4 * (otherStream.totalBytes + otherClass.totalBytes) ? found : undefined;
}

/** Later steps have the longer sequences, as after a length warm-up. */
function growing(random: Random, plan: RunPlan, steps: number): Pattern {
  const first = between(random, 0.6, 1);
  return fixedPattern(plan, steps).map((ranks, step) =>
    ranks.map((lengths) => lengths.map(() => first + ((1 - first) * step) / (steps - 1))),
  );
}
