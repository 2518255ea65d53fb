/** One model chunk and one micro-batch: batch, embedding or received input, layers, output layer and loss. */
import { KIB, MIB } from '../../../src/model/units.js';
import type { CallSites, PassSites } from './call-sites/index.js';
import { chunkTime } from './compute-time.js';
import { isAmpere } from './gpu-kind.js';
import type { LayerPoint, PassPoint } from './hooks.js';
import { backwardLayer, forwardLayer, type SavedLayer } from './layer.js';
import { chunksPerStage, layersPerChunk } from './model-parameters.js';
import type { RankContext } from './rank-context.js';
import type { Tensor } from './rank-process.js';
import { FP32 } from './tensor-sizes.js';

/** Tensors of a micro-batch between its forward and its backward pass. */
export interface InFlight {
  readonly point: PassPoint;
  readonly batch: readonly Tensor[];
  /** Input of each layer; with full recomputation all that is kept. */
  readonly inputs: Tensor[];
  /** Empty with full recomputation. */
  readonly layers: SavedLayer[];
  /** Input of the final norm, and its output. */
  readonly head: {
    readonly input: Tensor;
    readonly normed: Tensor;
    readonly lossLogits: Tensor;
    readonly loss: Tensor;
  } | null;
  /** What replaces an output that was sent on. */
  readonly sent: Tensor | null;
}

/** Bytes per token of tokens, labels, position ids (int64 each) and loss mask (fp32). */
const BATCH_BYTES = [8, 8, 8, FP32];

function isFirst(rank: RankContext, chunk: number): boolean {
  return rank.position.stage === 0 && chunk === 0;
}

function isLast(rank: RankContext, chunk: number): boolean {
  const { pipeline } = rank.plan.parallelism;
  return rank.position.stage === pipeline - 1 && chunk === chunksPerStage(rank.plan.parallelism) - 1;
}

/** cuBLAS' own workspace (`CUBLAS_WORKSPACE_CONFIG`): 32 MiB from Hopper on, `:4096:2:16:8` before. */
function cublasWorkspaceBytes(rank: RankContext): number {
  return isAmpere(rank.plan.gpu) ? 2 * 4096 * KIB + 8 * 16 * KIB : 32 * MIB;
}

/** Megatron's GlobalMemoryBuffer: one tensor per use that is replaced by a larger one when it is too small. */
function sharedBuffer(rank: RankContext, name: string, bytes: number, sites: PassSites): void {
  const { process, persistent } = rank;
  const old = persistent.get(name);
  if (old !== undefined && old.requestedBytes >= bytes) return;
  persistent.set(name, process.malloc(bytes, sites.model.logitsGather));
  if (old !== undefined) process.free(old);
}

/** The input of a chunk: embedded tokens, or what the previous stage sends. */
function chunkInput(rank: RankContext, sites: PassSites, tokens: number, first: boolean): Tensor {
  const { process, sizes } = rank;
  if (!first) {
    const received = process.malloc(tokens * sizes.hidden, sites.schedule.receiveForward);
    process.annotate('nccl:recv', () => process.pass(180));
    return received;
  }
  const embedded = process.malloc(tokens * sizes.wholeHidden, sites.model.embedding);
  if (!rank.plan.parallelism.sequenceParallel) return embedded;
  const part = process.malloc(tokens * sizes.hidden, sites.model.embeddingScatter);
  process.free(embedded);
  return part;
}

function loadBatch(rank: RankContext, sites: PassSites, tokens: number, needed: boolean): Tensor[] {
  return needed ? BATCH_BYTES.map((bytes) => rank.process.malloc(tokens * bytes, sites.model.batch)) : [];
}

function logitsAndLoss(rank: RankContext, sites: PassSites, tokens: number, us: number) {
  const { process, sizes } = rank;
  const normed = process.malloc(tokens * sizes.hidden, sites.model.finalNorm);
  if (rank.plan.parallelism.sequenceParallel) sharedBuffer(rank, 'mpu', tokens * sizes.wholeHidden, sites);
  if (!rank.persistent.has('cublas_workspace')) {
    const workspace = process.malloc(cublasWorkspaceBytes(rank), sites.model.cublasWorkspace);
    rank.persistent.set('cublas_workspace', workspace);
  }
  process.pass(us);
  const logits = process.malloc(tokens * sizes.logits, sites.model.logits);
  const lossLogits = process.malloc(tokens * sizes.lossLogits, sites.model.lossLogits);
  const loss = process.malloc(tokens * FP32, sites.model.loss);
  process.free(logits);
  return { normed, lossLogits, loss };
}

export function forwardChunk(rank: RankContext, point: PassPoint): InFlight {
  const { process, plan, hooks } = rank;
  const { tokens, chunk } = point;
  const sites = rank.sites.training;
  const first = isFirst(rank, chunk);
  const last = isLast(rank, chunk);
  const time = chunkTime(plan, rank.position.stage, chunk, tokens);
  hooks.beforeForward?.(rank, point);
  const batch = loadBatch(rank, sites, tokens, first || last);
  const inputs = [chunkInput(rank, sites, tokens, first)];
  const layers: SavedLayer[] = [];
  for (let layer = 0; layer < layersPerChunk(plan); layer += 1) {
    const at: LayerPoint = { ...point, layer };
    const keep = plan.recompute !== 'full';
    const { output, saved } = forwardLayer(rank, tokens, sites.layer, time.layerUs, keep, (module) =>
      hooks.afterModule?.(rank, at, module),
    );
    if (saved !== null) layers.push(saved);
    inputs.push(output);
    hooks.afterForwardLayer?.(rank, at);
  }
  const output = inputs.pop()!;
  let flight: InFlight;
  if (last) {
    const head = { input: output, ...logitsAndLoss(rank, sites, tokens, time.outputUs) };
    flight = { point, batch, inputs, layers, head, sent: null };
  } else {
    // The next stage has its copy: the storage goes, a one-element tensor keeps the graph alive.
    process.annotate('nccl:send', () => process.pass(120));
    const sent = process.malloc(2, sites.schedule.deallocateOutput);
    process.free(output);
    flight = { point, batch, inputs, layers, head: null, sent };
  }
  hooks.afterForward?.(rank, point);
  return flight;
}

export function backwardChunk(rank: RankContext, flight: InFlight): void {
  const { process, plan, sizes, hooks, sites } = rank;
  const { point, inputs, layers, head } = flight;
  const { tokens, chunk } = point;
  const time = chunkTime(plan, rank.position.stage, chunk, tokens);
  hooks.beforeBackward?.(rank, point);
  let gradient: Tensor;
  if (head === null) {
    gradient = process.malloc(tokens * sizes.hidden, sites.training.schedule.receiveBackward);
    process.annotate('nccl:recv', () => process.pass(150));
  } else {
    rank.outerTraceback = sites.training.schedule.backwardStep;
    gradient = backwardHead(rank, tokens, head, time.outputUs);
  }
  rank.outerTraceback = sites.training.schedule.backwardStep;
  while (inputs.length > 0) {
    const saved = layers.pop() ?? recompute(rank, tokens, time.layerUs, sites);
    gradient = backwardLayer(rank, tokens, saved, gradient, 2 * time.layerUs);
    process.free(inputs.pop()!);
    hooks.afterBackwardLayer?.(rank, { ...point, layer: inputs.length });
  }
  rank.outerTraceback = [];
  if (!isFirst(rank, chunk)) process.annotate('nccl:send', () => process.pass(120));
  process.free(gradient);
  if (flight.sent !== null) process.free(flight.sent);
  for (const tensor of flight.batch) process.free(tensor);
  hooks.afterBackward?.(rank, point);
}

/** The saved softmax becomes the gradient in place; its conversion to bf16 is a native autograd node. */
function backwardHead(rank: RankContext, tokens: number, head: NonNullable<InFlight['head']>, us: number): Tensor {
  const { process, sizes, sites } = rank;
  const logitsGradient = process.malloc(tokens * sizes.logits, sites.layerBackward.native);
  process.free(head.lossLogits);
  process.pass(2 * us);
  const whole = process.malloc(tokens * sizes.wholeHidden, sites.outputLayerBackward);
  process.free(logitsGradient);
  const gradient = process.malloc(tokens * sizes.hidden, sites.layerBackward.native);
  process.free(whole);
  process.free(head.loss);
  process.free(head.normed);
  process.free(head.input);
  return gradient;
}

/** The layer's forward pass again, this time for its saved tensors; its output is dropped. */
function recompute(rank: RankContext, tokens: number, us: number, sites: CallSites): SavedLayer {
  const { output, saved } = forwardLayer(rank, tokens, sites.recompute, us, true);
  rank.process.free(output);
  return saved!;
}

/** A forward pass without gradients, as evaluation runs it: nothing outlives it. */
export function evaluateChunk(rank: RankContext, point: PassPoint): void {
  const { process, plan } = rank;
  const { tokens, chunk } = point;
  const sites = rank.sites.evaluation;
  const first = isFirst(rank, chunk);
  const last = isLast(rank, chunk);
  const time = chunkTime(plan, rank.position.stage, chunk, tokens);
  const batch = loadBatch(rank, sites, tokens, first || last);
  let hidden = chunkInput(rank, sites, tokens, first);
  for (let layer = 0; layer < layersPerChunk(plan); layer += 1) {
    const { output } = forwardLayer(rank, tokens, sites.layer, time.layerUs, false);
    process.free(hidden);
    hidden = output;
  }
  if (last) {
    const { normed, lossLogits, loss } = logitsAndLoss(rank, sites, tokens, time.outputUs);
    for (const tensor of [lossLogits, loss, normed]) process.free(tensor);
  }
  process.free(hidden);
  for (const tensor of batch) process.free(tensor);
}
