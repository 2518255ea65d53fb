/** A rank under simulation: its launch up to the training loop, and how it ends. */

import { ALLOCATOR_VARIANTS, type AllocatorVariant } from '../../../src/allocator/variants.js';
import type { IterationRecord, RankEnding, StoryLine, TorchRelease } from '../run.js';
import type { AttemptOptions, DeviceConditions } from './attempt-options.js';
import type { CallSites } from './call-sites/index.js';
import { buildModelState, type ModelState } from './model-state.js';
import { createRandom, deriveSeed } from './random.js';
import { growOutside, positionOf, type RankContext } from './rank-context.js';
import { createRankProcess, RankOutOfMemory, RankRaised, RankSignalled } from './rank-process.js';
import { settingsFromConf } from './simulated-driver.js';
import { tensorSizes } from './tensor-sizes.js';

/** From the launcher's start to the first allocation: imports, rendezvous, CUDA context. */
const LAUNCH_US = 21_000_000;

export interface LiveRank {
  readonly context: RankContext;
  readonly conditions: DeviceConditions;
  readonly state: ModelState | null;
  readonly iterations: IterationRecord[];
  trainingStartUs: number | null;
  optimizerReady: boolean;
  /** Null while it runs. */
  ending: RankEnding | null;
}

/** Thrown where a plan does not even get as far as its communicators. */
export class UnfitPlan extends Error {}

function variantOf(torch: TorchRelease): AllocatorVariant {
  if (torch === '2.12') return ALLOCATOR_VARIANTS['2.12'];
  return ALLOCATOR_VARIANTS[torch === '2.8' ? '2.7' : '2.1'];
}

export function launchRank(options: AttemptOptions, sites: CallSites, rank: number, lines: StoryLine[]): LiveRank {
  const { plan, hooks = {} } = options;
  const position = positionOf(plan, rank);
  const conditions = options.conditions(rank);
  const { outside, otherProcesses } = conditions;
  const conf = plan.environment['PYTORCH_CUDA_ALLOC_CONF'];
  const records = options.records ?? ((number: number) => plan.profiledRanks.includes(number));
  const created = createRankProcess({
    rank,
    device: position.device,
    totalBytes: options.deviceBytes ?? plan.gpu.totalBytes,
    contextBytes: outside.contextBytes,
    otherProcesses,
    startUs: plan.startUs + LAUNCH_US + rank * 1733,
    seed: deriveSeed('process', plan.seed, rank, plan.startUs),
    variant: variantOf(plan.torch),
    memoryFraction: plan.memoryFraction,
    records: records(rank),
    watches: options.watches ?? false,
    observer: options.observer?.(rank),
    ...(conf === undefined ? {} : { settings: settingsFromConf(conf) }),
  });
  const process = options.around?.(created) ?? created;
  const context: RankContext = {
    plan,
    position,
    process,
    sites,
    sizes: tensorSizes(plan),
    hooks,
    random: createRandom(deriveSeed('hooks', plan.seed, rank)),
    persistent: new Map(),
    outsideBytes: outside.contextBytes,
    otherProcesses,
    outerTraceback: [],
    addLine: (text, from = 'rank', afterUs = 0) => {
      const timeUs = process.now() + afterUs;
      lines.push(from === 'rank' ? { timeUs, rank, text } : { timeUs, rank: null, node: position.node, text });
    },
  };
  const live: LiveRank & { state: ModelState | null } = {
    context,
    conditions,
    state: null,
    iterations: [],
    trainingStartUs: null,
    optimizerReady: false,
    ending: null,
  };
  guarded(live, () => {
    live.state = buildModelState(context, () => connect(context, outside.builtBytes));
    hooks.afterBuild?.(context);
  });
  return live;
}

/** Runs `body`; what it throws as a failure of the rank becomes the rank's ending. */
export function guarded(rank: LiveRank, body: () => void): void {
  const { context } = rank;
  try {
    body();
  } catch (error) {
    if (error instanceof RankOutOfMemory) {
      const { report } = error;
      const path = [...error.path, ...context.outerTraceback];
      rank.ending = { kind: 'oom', report, path, otherProcesses: context.otherProcesses };
    } else if (error instanceof RankRaised) {
      const path = [...error.path, ...context.outerTraceback];
      rank.ending = { kind: 'raised', exception: error.exception, path };
    } else if (error instanceof RankSignalled) {
      rank.ending = { kind: 'signalled', signal: error.signal };
    } else throw error;
  }
}

/** Raises this process's memory outside the allocator to a level, or gives the plan up. */
export function connect(rank: RankContext, outsideBytes: number): void {
  if (!growOutside(rank, outsideBytes)) throw new UnfitPlan(`rank ${rank.position.rank}: no room for communicators`);
}
