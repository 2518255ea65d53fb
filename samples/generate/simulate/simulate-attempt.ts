/**
 * One launch of a training run: every rank walks through model build, iterations, checkpoints and evaluation, asking the allocator model
 * for every tensor. Ranks meet at the end of each iteration; when one fails, the launcher stops the others.
 */
import { settingsFromConf } from '../../../src/allocator/settings.js';
import { ALLOCATOR_VARIANTS, type AllocatorVariant } from '../../../src/allocator/variants.js';
import type {
  Attempt,
  CheckpointSave,
  Evaluation,
  IterationRecord,
  OtherProcess,
  RankEnding,
  RunPlan,
  SimulatedRank,
  StoryLine,
  TorchRelease,
} from '../run.js';
import { type CallSites, createCallSites } from './call-sites/index.js';
import { chunkTime, trainingFlops } from './compute-time.js';
import type { IterationPoint, RankHooks } from './hooks.js';
import { backwardChunk, evaluateChunk, forwardChunk, type InFlight } from './model-chunk.js';
import { buildModelState, describeState, type ModelState, optimizerStep } from './model-state.js';
import { forwardOrder, type PipelineTimeline, pipelineOrder, pipelineTimeline } from './pipeline-order.js';
import { createRandom, deriveSeed } from './random.js';
import { growOutside, microBatchCount, positionOf, type RankContext, worldSize } from './rank-context.js';
import { createRankProcess, RankOutOfMemory, RankRaised, RankSignalled } from './rank-process.js';
import { tensorSizes } from './tensor-sizes.js';

/** Memory of a process outside the allocator: CUDA context and modules, then NCCL's buffers as its communicators come up. */
export interface OutsideMemory {
  readonly contextBytes: number;
  /** Once the model is wrapped for data parallelism. */
  readonly builtBytes: number;
  /** From the first forward pass on. */
  readonly trainingBytes: number;
}

export interface DeviceConditions {
  readonly outside: OutsideMemory;
  /** On this device from the start. */
  readonly otherProcesses: readonly OtherProcess[];
}

/** Padded tokens of each micro-batch: `tokens[step][data rank][micro-batch]`, the micro-batch size included. */
export type Workload = readonly (readonly (readonly number[])[])[];

export interface AttemptOptions {
  readonly plan: RunPlan;
  readonly firstIteration: number;
  /** As many steps as it has are simulated at most. */
  readonly workload: Workload;
  readonly conditions: (rank: number) => DeviceConditions;
  readonly hooks?: RankHooks;
  /** Which ranks to simulate; default all. A trial run of one rank per stage is enough to see what a plan needs. */
  readonly ranks?: readonly number[];
  /** Overrides the GPU's memory: a device without limit shows what a plan would need. */
  readonly deviceBytes?: number;
  readonly records?: (rank: number) => boolean;
}

/** From the launcher's start to the first allocation: imports, rendezvous, CUDA context. */
const LAUNCH_US = 21_000_000;
/** Optimizer step, gradient and parameter communication that nothing hides, logging. */
const STEP_OVERHEAD_US = 180_000;
/** How long the launcher takes to see a failed process and stop the others; they may fail on their own until then. */
const STOP_US = 4_000_000;

export function variantOf(torch: TorchRelease): AllocatorVariant {
  if (torch === '2.12') return ALLOCATOR_VARIANTS['2.12'];
  return ALLOCATOR_VARIANTS[torch === '2.8' ? '2.7' : '2.1'];
}

interface LiveRank {
  readonly context: RankContext;
  readonly conditions: DeviceConditions;
  readonly state: ModelState | null;
  readonly iterations: IterationRecord[];
  trainingStartUs: number | null;
  optimizerReady: boolean;
  /** Null while it runs. */
  ending: RankEnding | null;
}

export function simulateAttempt(options: AttemptOptions): Attempt {
  const { plan, firstIteration, workload, hooks = {} } = options;
  const sites = createCallSites(plan);
  const lines: StoryLine[] = [];
  const numbers = options.ranks ?? Array.from({ length: worldSize(plan) }, (_, rank) => rank);
  const live = numbers.map((rank) => launchRank(options, sites, rank, hooks, lines));
  const between: Between = { checkpoints: [], evaluations: [] };
  const running = (): LiveRank[] => live.filter((rank) => rank.ending === null);
  if (running().length === live.length) {
    const startUs = Math.max(...live.map((rank) => rank.context.process.now())) + 400_000;
    for (const rank of live) {
      rank.context.process.waitUntil(startUs);
      rank.trainingStartUs = startUs;
    }
    for (const [step, tokens] of workload.entries()) {
      const at = { iteration: firstIteration + step, step };
      runIteration(options, live, at, tokens);
      if (running().length < live.length) break;
      afterIteration(options, live, at, between);
      if (running().length < live.length) break;
    }
  }
  return finish(options, live, between, lines);
}

function launchRank(
  options: AttemptOptions,
  sites: CallSites,
  rank: number,
  hooks: RankHooks,
  lines: StoryLine[],
): LiveRank {
  const { plan } = options;
  const position = positionOf(plan, rank);
  const conditions = options.conditions(rank);
  const { outside, otherProcesses } = conditions;
  const conf = plan.environment['PYTORCH_CUDA_ALLOC_CONF'];
  const records = options.records ?? ((number: number) => plan.profiledRanks.includes(number));
  const process = createRankProcess({
    rank,
    device: position.device,
    totalBytes: options.deviceBytes ?? plan.gpu.totalBytes,
    contextBytes: outside.contextBytes,
    otherProcessBytes: otherProcesses.reduce((sum, other) => sum + other.bytes, 0),
    startUs: plan.startUs + LAUNCH_US + rank * 1733,
    seed: deriveSeed('process', plan.seed, rank, plan.startUs),
    variant: variantOf(plan.torch),
    memoryFraction: plan.memoryFraction,
    records: records(rank),
    ...(conf === undefined ? {} : { settings: settingsFromConf(conf) }),
  });
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
    tell: (text, from = 'rank', afterUs = 0) => {
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
  attempt(live, () => {
    live.state = buildModelState(context, () => connect(context, outside.builtBytes));
    hooks.afterBuild?.(context);
  });
  return live;
}

/** Runs `body`; what it throws as a failure of the rank becomes the rank's ending. */
function attempt(rank: LiveRank, body: () => void): void {
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

/** Thrown where a plan does not even get as far as its communicators. */
export class UnfitPlan extends Error {}

function connect(rank: RankContext, outsideBytes: number): void {
  if (!growOutside(rank, outsideBytes)) throw new UnfitPlan(`rank ${rank.position.rank}: no room for communicators`);
}

/** When the passes of one data-parallel replica run, with its own micro-batch lengths. */
function timeline(plan: RunPlan, tokens: readonly number[]): PipelineTimeline {
  const { pipeline } = plan.parallelism;
  const orders = Array.from({ length: pipeline }, (_, stage) => pipelineOrder(plan.parallelism, stage, tokens.length));
  return pipelineTimeline(plan.parallelism, orders, {
    forwardUs: (stage, chunk, microBatch) => chunkTime(plan, stage, chunk, tokens[microBatch]!).forwardUs,
    backwardUs: (stage, chunk, microBatch) => chunkTime(plan, stage, chunk, tokens[microBatch]!).backwardUs,
  });
}

function runIteration(
  options: AttemptOptions,
  live: readonly LiveRank[],
  at: IterationPoint,
  tokens: readonly (readonly number[])[],
): void {
  const { plan } = options;
  const startUs = Math.max(...live.map((rank) => rank.context.process.now()));
  const timelines = tokens.map((microBatches) => timeline(plan, microBatches));
  for (const rank of live) {
    const { process, position } = rank.context;
    process.waitUntil(startUs);
    attempt(rank, () => trainStep(rank, at, tokens[position.dataRank]!, timelines[position.dataRank]!, startUs));
  }
  const healthy = live.filter((rank) => rank.ending === null);
  if (healthy.length < live.length) return;
  const endUs = Math.max(
    ...live.map((rank) => rank.context.process.now()),
    startUs + Math.ceil(Math.max(...timelines.map((line) => line.endUs))) + STEP_OVERHEAD_US,
  );
  const all = tokens.flat();
  const sequence = (count: number): number => count / plan.microBatchSize;
  const flops = all.reduce((sum, count) => sum + trainingFlops(plan, count, sequence(count)), 0);
  for (const rank of live) {
    rank.context.process.waitUntil(endUs);
    rank.iterations.push({
      startUs,
      endUs,
      tokens: all.reduce((sum, count) => sum + count, 0),
      teraflopsPerGpu: flops / (endUs - startUs) / 1e6 / worldSize(plan),
      memory: structuredClone(rank.context.process.allocator.statistics),
    });
  }
}

/** One iteration of one rank up to the optimizer step. */
function trainStep(
  rank: LiveRank,
  at: IterationPoint,
  tokens: readonly number[],
  times: PipelineTimeline,
  startUs: number,
): void {
  const { context } = rank;
  const { hooks } = context;
  hooks.beforeIteration?.(context, at);
  const passes = (): void => forwardAndBackward(rank, at, tokens, times, startUs);
  if (hooks.aroundPasses === undefined) passes();
  else hooks.aroundPasses(context, at, passes);
  hooks.beforeOptimizer?.(context, at);
  optimizerStep(context, rank.state!, !rank.optimizerReady);
  rank.optimizerReady = true;
}

/** The passes of all micro-batches in the schedule's order. */
function forwardAndBackward(
  { context, conditions }: LiveRank,
  at: IterationPoint,
  tokens: readonly number[],
  times: PipelineTimeline,
  startUs: number,
): void {
  const { process, plan, position } = context;
  const flights = new Map<string, InFlight>();
  for (const [i, { kind, chunk, microBatch }] of pipelineOrder(
    plan.parallelism,
    position.stage,
    tokens.length,
  ).entries()) {
    process.waitUntil(startUs + times.beginUs[position.stage]![i]!);
    const key = `${chunk} ${microBatch}`;
    if (kind === 'forward') {
      flights.set(key, forwardChunk(context, { ...at, chunk, microBatch, tokens: tokens[microBatch]! }));
      if (at.step === 0 && i === 0) connect(context, conditions.outside.trainingBytes);
    } else {
      backwardChunk(context, flights.get(key)!);
      flights.delete(key);
    }
  }
}

/** What happened between iterations, besides training. */
interface Between {
  readonly checkpoints: CheckpointSave[];
  readonly evaluations: Evaluation[];
}

/** `eval_interval` and `eval_iters` of the configuration; without an interval nothing is evaluated. */
function evaluationPlan({ configuration }: RunPlan): { readonly interval: number | null; readonly iterations: number } {
  const interval = configuration['train.eval_interval'];
  return {
    interval: typeof interval === 'number' ? interval : null,
    iterations: Number(configuration['train.eval_iters'] ?? 1),
  };
}

/** What comes between two iterations: hooks, a checkpoint, an evaluation. */
function afterIteration(
  options: AttemptOptions,
  live: readonly LiveRank[],
  at: IterationPoint,
  between: Between,
): void {
  const { plan, hooks = {} } = options;
  const { checkpoints, evaluations } = between;
  const done = at.iteration + 1;
  for (const rank of live) attempt(rank, () => hooks.afterIteration?.(rank.context, at));
  if (live.some((rank) => rank.ending !== null)) return;
  const { interval, iterations } = evaluationPlan(plan);
  if (interval !== null && done % interval === 0) {
    const startUs = Math.max(...live.map((rank) => rank.context.process.now()));
    for (const rank of live) attempt(rank, () => evaluate(rank.context, at, iterations));
    const failed = live.some((rank) => rank.ending !== null);
    if (!failed) meet(live);
    const endUs = failed ? null : live[0]!.context.process.now();
    evaluations.push({ iteration: done, evaluationIterations: iterations, startUs, endUs });
    if (failed) return;
  }
  if (plan.saveInterval !== null && (done % plan.saveInterval === 0 || done === plan.trainIterations)) {
    const startUs = Math.max(...live.map((rank) => rank.context.process.now()));
    for (const rank of live) attempt(rank, () => saveCheckpoint(rank, at));
    const failed = live.some((rank) => rank.ending !== null);
    if (!failed) meet(live);
    checkpoints.push({ iteration: done, startUs, endUs: failed ? null : live[0]!.context.process.now() });
  }
}

function meet(live: readonly LiveRank[]): void {
  const nowUs = Math.max(...live.map((rank) => rank.context.process.now()));
  for (const rank of live) rank.context.process.waitUntil(nowUs);
}

function evaluate(rank: RankContext, at: IterationPoint, iterations: number): void {
  const { plan } = rank;
  rank.hooks.atEvaluation?.(rank, at);
  const tokens = plan.microBatchSize * plan.sequenceLength;
  for (let pass = 0; pass < iterations; pass += 1) {
    for (const { chunk, microBatch } of forwardOrder(plan.parallelism, microBatchCount(plan))) {
      evaluateChunk(rank, { ...at, chunk, microBatch, tokens });
    }
  }
}

/** Sharded saving copies straight from the live tensors to pinned host memory: nothing of it is allocated on the device. */
function saveCheckpoint(rank: LiveRank, at: IterationPoint): void {
  const { context, state } = rank;
  context.hooks.atCheckpoint?.(context, at);
  const bytes = state!.parameters.reduce((sum, parameter) => sum + parameter.elements * 2, 0);
  context.process.pass(1_500_000 + bytes / 2_000);
}

function finish(
  options: AttemptOptions,
  live: readonly LiveRank[],
  between: Between,
  lines: readonly StoryLine[],
): Attempt {
  const { plan, firstIteration } = options;
  const failures = live.filter((rank) => rank.ending !== null).map((rank) => rank.context.process.now());
  const firstFailureUs = failures.length === 0 ? null : Math.min(...failures);
  const ranks = live.map((rank): SimulatedRank => {
    const { process, position } = rank.context;
    const state = rank.state ?? describeState(rank.context);
    const lateUs = firstFailureUs === null ? Number.POSITIVE_INFINITY : firstFailureUs + STOP_US;
    const late = process.now() > lateUs;
    // A failure that would have come after the launcher had stopped everything never happened.
    const ending: RankEnding =
      rank.ending !== null && !late ? rank.ending : { kind: firstFailureUs === null ? 'completed' : 'stopped' };
    return {
      ...position,
      process,
      parameterElements: state.parameters.reduce((sum, parameter) => sum + parameter.elements, 0),
      parameters: state.parameters.map(({ name, elements }) => ({ name, elements })),
      trainingStartUs: rank.trainingStartUs,
      iterations: rank.iterations,
      ending,
      endUs: Math.min(process.now(), lateUs),
    };
  });
  return {
    plan,
    firstIteration,
    ranks,
    ...between,
    storyLines: lines.toSorted((a, b) => a.timeUs - b.timeUs),
    endUs: Math.max(...ranks.map((rank) => rank.endUs)),
  };
}

/** The micro-batches of a run with fixed lengths, `steps` iterations long. */
export function fixedWorkload(plan: RunPlan, steps: number): Workload {
  const tokens = plan.microBatchSize * plan.sequenceLength;
  const count = microBatchCount(plan);
  return Array.from({ length: steps }, () =>
    Array.from({ length: plan.parallelism.data }, () => new Array<number>(count).fill(tokens)),
  );
}
