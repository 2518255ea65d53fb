/**
 * Buffers of a side stream (reloading offloaded activations) stay cached in that stream's blocks, where the main stream
 * cannot use them, and small tensors that live on keep their segments from going back to the driver.
 */
import { MIB } from '../../../src/model/units.js';
import type { GeneratedRun, RunPlan, SimulatedRank } from '../run.js';
import { at } from '../simulate/call-sites/sources.js';
import type { CallPath } from '../simulate/code-line.js';
import { between, chance, type Random, wholeBetween } from '../simulate/random.js';
import type { RankContext, RankHooks } from '../simulate/rank-context.js';
import type { Tensor } from '../simulate/rank-process.js';
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
import { drawFirstIteration, fixedPattern, variedPattern } from './workload.js';

const NAME = 'fragmentation-other-stream';

export const fragmentationOtherStream: GeneratedCause = {
  name: NAME,
  title: "free memory lies in another stream's blocks",
  build: (seed) => search(NAME, seed, (random, draw) => build(random, seed, draw)),
};

interface Reloading {
  /** All of a step's reloaded tensors, sized once for the longest batch. */
  readonly bulkBytes: number;
  /** Tensors cut from it per micro-batch, and the small ones between them that stay. */
  readonly groups: number;
  readonly keptBytes: number;
}

/** Reload buffers on a stream of their own: cut from one bulk buffer, needed while a micro-batch's backward runs. */
function reloading({ bulkBytes, groups, keptBytes }: Reloading): RankHooks {
  const streams = new WeakMap<RankContext, number>();
  const loaded = new WeakMap<RankContext, Tensor[]>();
  const onStream = (rank: RankContext, body: () => void): void => {
    const stream = streams.get(rank) ?? rank.process.newStream();
    streams.set(rank, stream);
    rank.process.withStream(stream, body);
  };
  const groupBytes = Math.floor(bulkBytes / groups) - keptBytes - MIB;
  return {
    beforeIteration: (rank, { step }) => {
      if (step === 0) onStream(rank, () => firstReload(rank, { bulkBytes, groups, keptBytes }, groupBytes));
    },
    beforeBackward: (rank) =>
      onStream(rank, () => {
        const count = Math.max(1, groups >> 1);
        const tensors = Array.from({ length: count }, () => rank.process.malloc(groupBytes, groupPath(rank)));
        loaded.set(rank, tensors);
      }),
    afterBackward: (rank) => {
      for (const tensor of loaded.get(rank) ?? []) rank.process.free(tensor);
      loaded.delete(rank);
    },
  };
}

/** The bulk buffer is made and dropped, then cut up; what is cut for good keeps its segment. */
function firstReload(rank: RankContext, { bulkBytes, groups, keptBytes }: Reloading, groupBytes: number): void {
  const { process } = rank;
  const bulk = 'buffer = torch.empty(self.max_bytes, dtype=torch.uint8, device="cuda")';
  process.free(process.malloc(bulkBytes, reloadPath(rank, 'allocate', 142, bulk)));
  const kept = reloadPath(rank, 'bulk_reload_group', 471, 'self.scales[group] = torch.empty_like(saved.scales)');
  const whole: Tensor[] = [];
  for (let group = 0; group < groups; group += 1) {
    whole.push(process.malloc(groupBytes, groupPath(rank)));
    process.malloc(keptBytes, kept);
  }
  for (const tensor of whole) process.free(tensor);
}

function reloadPath(rank: RankContext, name: string, line: number, source: string): CallPath {
  return [
    at(name, `${rank.sites.core}pipeline_parallel/fine_grained_activation_offload.py`, line, source),
    at(
      'on_group_start_backward',
      `${rank.sites.core}pipeline_parallel/fine_grained_activation_offload.py`,
      688,
      'self.bulk_reload()',
    ),
    ...rank.sites.outer.schedule,
  ];
}

function groupPath(rank: RankContext): CallPath {
  return reloadPath(rank, 'reload', 455, 'gpu_tensor = torch.empty(size, dtype=dtype, device="cuda")');
}

function build(random: Random, seed: number, draw: number): GeneratedRun | undefined {
  const steps = wholeBetween(random, 2, 3);
  const drawn = drawPlan(random, draw, {
    stateShare: [0.15, 0.6],
    steps,
    recompute: ['none', 'none', 'selective', 'full'],
    // With expandable segments a flush takes the free pages of every stream.
    allocConf: [null],
  });
  if (drawn === undefined) return undefined;
  const pattern = chance(random, 0.3) ? variedPattern(drawn, steps, random, 0.3) : fixedPattern(drawn, steps);
  const fit = fitPlan(random, drawn, { pattern, ratio: [0.65, 0.92] });
  if (fit === undefined) return undefined;
  const { stage, rank: heaviest } = fit.heaviest;
  const left = fit.budgetBytes - fit.heaviest.peakBytes.at(-1)!;
  const bulkBytes = Math.floor((left * between(random, 1.02, 1.6)) / MIB) * MIB;
  if (bulkBytes < LEAST_UNUSABLE_BYTES || bulkBytes > 0.4 * fit.budgetBytes) return undefined;
  const groups = wholeBetween(random, 2, Math.min(12, Math.floor(bulkBytes / (256 * MIB))));
  const hooks = (): RankHooks => reloading({ bulkBytes, groups, keptBytes: wholeBetween(random, 2, 12) * MIB });
  const plan: RunPlan = {
    ...fit.plan,
    configuration: { 'model.fine_grained_activation_offloading': true, 'model.offload_modules': 'core_attn,attn_proj' },
  };
  const options: AttemptOptions = {
    plan,
    firstIteration: drawFirstIteration(random, plan),
    workload: fit.workload,
    hooks: hooks(),
    conditions: () => ({ outside: fit.outside, otherProcesses: [] }),
  };
  if (isOfThisCause(probe(options, [heaviest])[0]!) === undefined) return undefined;
  const profiledRanks = drawProfiledRanks(random, drawn, ranksOf(drawn, stage));
  const attempts = launches(random, { ...options, plan: { ...plan, profiledRanks } });
  const first = failedRanks(attempts.at(-1)!.ranks)[0];
  const found = first === undefined ? undefined : isOfThisCause(first);
  if (first === undefined || !ranOutOfMemory(first) || found === undefined) return undefined;
  return oomRun({
    causeName: NAME,
    seed,
    attempts,
    truth: {
      cause: 'fragmentation',
      detail: 'other_stream',
      because: `${fitsInSum(first, found)}, while ${gib(found.free.otherStream.totalBytes)} lie free in blocks of the stream that reloads activations.`,
      numbers: { ...fragmentationNumbers(found), largest_other_stream_bytes: found.free.otherStream.largestBytes },
    },
  });
}

/** The other stream's free blocks must be the larger part, and would have made the difference. */
function isOfThisCause(rank: SimulatedRank): Fragmentation | undefined {
  if (!ranOutOfMemory(rank)) return undefined;
  const found = fragmentationOf(rank);
  if (found === undefined) return undefined;
  const { usable, otherStream, otherClass } = found.free;
  if (otherStream.totalBytes < LEAST_UNUSABLE_BYTES) return undefined;
  return otherStream.totalBytes > 1.5 * (usable.totalBytes + otherClass.totalBytes) ? found : undefined;
}
