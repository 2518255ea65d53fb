/**
 * The training of one rank as a profiler sees it: NVTX ranges, and the kernels and copies of each pass. For one model
 * chunk a stage.
 */
import { chunkTime } from '../compute-time.js';
import type { IterationPoint, LayerModule, LayerPoint, PassPoint } from '../hooks.js';
import { layersPerChunk } from '../model-parameters.js';
import { describeState } from '../model-state.js';
import type { RankHooks } from '../rank-context.js';
import { microBatchCount, type RankContext } from '../rank-context.js';
import { BF16, FP32 } from '../tensor-sizes.js';
import { LAUNCH_US, type Profiler } from './profiler.js';
import type { KernelName } from './recording.js';

/** Kernel and its part of the time of a layer's forward pass. */
type Work = readonly (readonly [kernel: KernelName, share: number])[];

const FORWARD: Readonly<Record<LayerModule, Work>> = {
  linear_qkv: [
    ['norm', 0.012],
    ['gemm', 0.13],
  ],
  core_attention: [['attention', 0.19]],
  linear_proj: [['gemm', 0.09]],
  linear_fc1: [['gemm', 0.31]],
  activation_func: [['swiglu', 0.03]],
  linear_fc2: [['gemm', 0.16]],
};

/** Of one layer, in order. Not every kernel there is: a report of some hundred kilobytes has no room for them. */
const BACKWARD: Work = [
  ['gemm', 0.17],
  ['gemm', 0.17],
  ['swiglu_backward', 0.05],
  ['gemm', 0.31],
  ['gemm', 0.31],
  ['gemm', 0.18],
  ['attention_backward', 0.38],
  ['gemm', 0.26],
  ['norm_backward', 0.06],
];

/** int64 tokens, labels and positions, fp32 loss mask: bytes of a token on its way to the device. */
const BATCH_TOKEN_BYTES = 28;
/** Pinned host memory over PCIe, device memory, and a ring of NVLink, bytes/µs. */
const HOST_RATE = 24_000;
const DEVICE_RATE = 2_300_000;
const RING_RATE = 150_000;
/** Kernels of one optimizer step, and buckets of parameters that are gathered one after the other. */
const ADAM_PARTS = 8;
const BUCKETS = 4;
/** Of the time after the last pass: until the norm of the gradients is known. */
const NORM_SHARE = 0.7;
/** Of a layer's backward pass, which begins with its MLP. */
const MLP_SHARE = 0.6;

const NCCL_CALLS = {
  all_reduce: 'ncclAllReduce',
  send_recv: 'ncclGroupEnd',
  reduce_scatter: 'ncclReduceScatter',
  all_gather: 'ncclAllGather',
} as const;

/** `own` of the story, and around them what `profiler` notes of `profiled`. */
export function profiledHooks(profiled: number, profiler: Profiler, own: RankHooks): RankHooks {
  const profile = new ProfiledTraining(profiler);
  const on = (rank: RankContext, body: (rank: RankContext) => void): void => {
    if (rank.position.rank === profiled) body(rank);
  };
  return {
    ...own,
    beforeIteration: (rank, at) => {
      on(rank, () => profile.beginIteration(rank, at));
      own.beforeIteration?.(rank, at);
    },
    beforeForward: (rank, at) => {
      on(rank, () => profile.beginForward(rank, at));
      own.beforeForward?.(rank, at);
    },
    afterModule: (rank, at, module) => {
      own.afterModule?.(rank, at, module);
      on(rank, () => profile.module(rank, at, module));
    },
    afterForwardLayer: (rank, at) => {
      own.afterForwardLayer?.(rank, at);
      on(rank, () => profile.endForwardLayer(rank, at));
    },
    afterForward: (rank, at) => {
      own.afterForward?.(rank, at);
      on(rank, () => profile.endForward(rank, at));
    },
    beforeBackward: (rank, at) => {
      on(rank, () => profile.beginBackward(rank));
      own.beforeBackward?.(rank, at);
    },
    afterBackwardLayer: (rank, at) => {
      on(rank, () => profile.endBackwardLayer(rank, at));
      own.afterBackwardLayer?.(rank, at);
    },
    afterBackward: (rank, at) => {
      on(rank, () => profile.endBackward(rank));
      own.afterBackward?.(rank, at);
    },
    beforeOptimizer: (rank, at) => {
      on(rank, () => profile.beginOptimizer(rank));
      own.beforeOptimizer?.(rank, at);
    },
    afterIteration: (rank, at) => {
      on(rank, () => profile.endOptimizer(rank));
      own.afterIteration?.(rank, at);
      on(rank, () => profile.endIteration(rank));
    },
  };
}

class ProfiledTraining {
  private readonly profiler: Profiler;
  /** When the last pass was over: a stage that is not the last then waits for a gradient. */
  private passEndUs = 0;
  private layerStartUs = 0;
  private optimizerStartUs = 0;
  /** Nodes of autograd so far. */
  private nodes = 0;
  private held: { readonly parameters: number; readonly shards: number } | undefined;

  constructor(profiler: Profiler) {
    this.profiler = profiler;
  }

  beginIteration(rank: RankContext, { iteration }: IterationPoint): void {
    const { profiler } = this;
    const { process } = rank;
    profiler.begin(`iteration ${iteration + 1}`, process.now());
    const bytes = this.elements(rank).parameters * FP32;
    profiler.copy('set', bytes, 'compute', bytes / DEVICE_RATE, process.now());
    process.pass(2 * LAUNCH_US);
    this.passEndUs = process.now();
  }

  beginForward(rank: RankContext, { tokens, microBatch, step }: PassPoint): void {
    const { profiler } = this;
    const { process } = rank;
    profiler.begin('forward', process.now());
    const bytes = tokens * BATCH_TOKEN_BYTES;
    profiler.copy('host_to_device', bytes, 'compute', bytes / HOST_RATE, process.now());
    process.pass(2 * LAUNCH_US);
    // The parameters that the last step changed come together while the first pass is under way.
    if (microBatch === 0 && step > 0) {
      const us = this.bucketUs(rank);
      for (let bucket = 0; bucket < BUCKETS; bucket += 1) this.collective('all_gather', us, process.now(), rank);
    }
    profiler.kernel('embedding', 'compute', (tokens * rank.sizes.wholeHidden) / DEVICE_RATE, process.now());
    process.pass(2 * LAUNCH_US);
    this.beginForwardLayer(rank, 0);
  }

  module(rank: RankContext, at: LayerPoint, module: LayerModule): void {
    const { profiler } = this;
    const { process } = rank;
    const { layerUs } = chunkTime(rank.plan, rank.position.stage, at.chunk, at.tokens);
    for (const [kernel, share] of FORWARD[module]) {
      profiler.kernel(kernel, 'compute', share * layerUs, process.now());
      process.pass(LAUNCH_US + 1);
    }
    if (module !== 'linear_proj') return;
    profiler.end(process.now());
    profiler.begin('mlp', process.now());
  }

  endForwardLayer(rank: RankContext, { layer }: LayerPoint): void {
    const { profiler } = this;
    for (let depth = 0; depth < 2; depth += 1) profiler.end(rank.process.now());
    if (layer + 1 < layersPerChunk(rank.plan)) this.beginForwardLayer(rank, layer + 1);
  }

  endForward(rank: RankContext, { tokens }: PassPoint): void {
    const { process, sizes } = rank;
    this.profiler.end(process.now());
    this.collective('send_recv', (tokens * sizes.hidden) / RING_RATE, process.now(), rank);
    this.passEndUs = process.now();
  }

  /** What the stage waited for is one kernel that ends when the gradient is here. */
  beginBackward(rank: RankContext): void {
    const { profiler } = this;
    const { process } = rank;
    const waitedUs = process.now() - this.passEndUs;
    this.collective('send_recv', Math.max(40, waitedUs - 30), this.passEndUs, rank);
    profiler.begin('backward', process.now());
    profiler.become('autograd', 'torch_backward');
    this.beginBackwardLayer(rank);
  }

  endBackwardLayer(rank: RankContext, at: LayerPoint): void {
    const { profiler } = this;
    const { process, plan } = rank;
    const { layerUs } = chunkTime(plan, rank.position.stage, at.chunk, at.tokens);
    const spanUs = process.now() - this.layerStartUs;
    const attentionUs = Math.round(this.layerStartUs + MLP_SHARE * spanUs);
    profiler.end(attentionUs);
    profiler.begin(`FusedAttnFuncBackward, seq = ${this.nodes + 1}`, attentionUs);
    profiler.end(process.now());
    for (const [i, [kernel, share]] of BACKWARD.entries()) {
      const atUs = this.layerStartUs + (spanUs * i) / BACKWARD.length;
      profiler.kernel(kernel, 'compute', share * layerUs, atUs);
    }
    const isLast = at.microBatch === microBatchCount(plan) - 1;
    // A bucket of gradients is full after every second layer.
    if (isLast && at.layer % 2 === 0 && at.layer > 0) {
      this.collective('reduce_scatter', 2 * this.bucketUs(rank), process.now(), rank);
    }
    if (at.layer > 0) this.beginBackwardLayer(rank);
  }

  endBackward({ process }: RankContext): void {
    const { profiler } = this;
    profiler.become('main', 'torch');
    profiler.end(process.now());
    this.passEndUs = process.now();
  }

  beginOptimizer(rank: RankContext): void {
    const { profiler } = this;
    const { process } = rank;
    this.optimizerStartUs = process.now();
    profiler.begin('optimizer', process.now());
    // The last bucket has nothing left to hide behind.
    this.collective('reduce_scatter', 2 * this.bucketUs(rank), process.now(), rank);
    profiler.kernel('square_sum', 'compute', 900, process.now());
    process.pass(2 * LAUNCH_US);
  }

  /** By now the other ranks are here, too. */
  endOptimizer(rank: RankContext): void {
    const { profiler } = this;
    const { process } = rank;
    // Parameter and both moments are read and written, the gradient read.
    const adamUs = (7 * this.elements(rank).shards * FP32) / DEVICE_RATE / ADAM_PARTS;
    // The norm of all gradients is known when the slowest rank has sent its own.
    const normUs = this.optimizerStartUs + 1_500;
    const atUs = this.optimizerStartUs + (process.now() - this.optimizerStartUs) * NORM_SHARE;
    this.collective('all_reduce', atUs - normUs - 200, normUs, rank);
    for (let part = 0; part < ADAM_PARTS; part += 1) profiler.kernel('adam', 'compute', adamUs, atUs + part * 60);
    profiler.copy('device_to_host', 2 * FP32, 'compute', 1.6, atUs + ADAM_PARTS * 70);
    const doneUs = process.now() - 40;
    profiler.wait('compute', doneUs - 400, doneUs);
    profiler.end(process.now());
  }

  endIteration({ process }: RankContext): void {
    this.profiler.end(process.now());
  }

  private beginForwardLayer({ process }: RankContext, layer: number): void {
    this.profiler.begin(`decoder.layers.${layer}`, process.now());
    this.profiler.begin('self_attention', process.now());
  }

  private beginBackwardLayer({ process }: RankContext): void {
    this.nodes += 2;
    this.layerStartUs = process.now();
    this.profiler.begin(`_LayerNormLinearBackward, seq = ${this.nodes}`, process.now());
  }

  private elements(rank: RankContext): { readonly parameters: number; readonly shards: number } {
    if (this.held === undefined) {
      const { parameters, shards } = describeState(rank);
      const sum = (all: readonly number[]): number => all.reduce((total, elements) => total + elements, 0);
      this.held = { parameters: sum(parameters.map(({ elements }) => elements)), shards: sum(shards) };
    }
    return this.held;
  }

  /** To gather the bf16 parameters of one bucket. */
  private bucketUs(rank: RankContext): number {
    return (this.elements(rank).parameters * BF16) / BUCKETS / RING_RATE;
  }

  /** In a range of NCCL's own, as its library puts one around each. */
  private collective(kernel: keyof typeof NCCL_CALLS, us: number, atUs: number, { process }: RankContext): void {
    const { profiler } = this;
    const stream = kernel === 'send_recv' ? 'pipeline' : 'data_parallel';
    profiler.begin(NCCL_CALLS[kernel], atUs, 'NCCL');
    profiler.kernel(kernel, stream, us, atUs + 1);
    if (process.now() < atUs + 4 * LAUNCH_US) process.pass(4 * LAUNCH_US);
    profiler.end(atUs + 2 * LAUNCH_US);
  }
}
