/**
 * The planted story of one rank: what it sets up, its four steps, and how it ends. Sizes come from a {@link Workload},
 * order and owners from here.
 */
import type { CodeLine } from '../../../samples/generate/simulate/code-line.js';
import { type Random, wholeBetween } from '../../../samples/generate/simulate/random.js';
import type { Tensor } from '../../../samples/generate/simulate/rank-process.js';
import { kernel } from '../../../samples/generate/write/nsys/kernels.js';
import type { OomReport } from '../../../src/allocator/oom-report.js';
import { roundUp } from '../../../src/allocator/rounding.js';
import { GIB, KIB, MIB } from '../../../src/model/units.js';
import type { SimulatedProcess } from './process.js';
import { COPY } from './rows.js';

const GEMM = kernel('planted.gemm');
/** Spills: a reservation of local memory that no allocation shows. */
const LAYER_NORM = kernel('planted.layer_norm');
const ELEMENTWISE = kernel('planted.elementwise');
const ADAM = kernel('planted.adam');
const ALL_REDUCE = kernel('planted.all_reduce');
const COMPUTE_STREAM = 7;
const COPY_STREAM = 13;
const NCCL_STREAM = 20;

export const FIRST_STEP = 101;
export const LAST_STEP = 104;

type Sizes = Readonly<Record<'weightBytes' | 'gradBytes' | 'optimizerBytes' | 'activationBytes' | 'layers', number>>;
/** What differs between the ranks. */
export interface Workload extends Sizes {
  /** NCCL before the weights, so that the same addresses mean other things than in the other process. */
  readonly ncclFirst: boolean;
  /** One retry in the third step, out of memory in the last. */
  readonly runsOut: boolean;
}

export interface Ending {
  /** As the snapshot has it: at the OOM, else after the last step. */
  readonly torch: ReturnType<SimulatedProcess['torch']['state']>;
  readonly atNs: number;
  readonly oom: { readonly report: OomReport; readonly atNs: number } | null;
}

const MALLOC = 'cudaMalloc_v3020';
const FREE = 'cudaFree_v3020';
/** The driver deals in pages of 2 MiB. */
const pages = (bytes: number): number => roundUp(bytes, 2 * MIB);

/** `NAME FILE:LINE CODE` */
function line(text: string): CodeLine {
  const [, name = '', file, number, source = ''] = /^(\S+) (\S+):(\d+) (.*)$/.exec(text)!;
  return { name, filename: `/opt/megatron-lm/megatron/${file}`, line: Number(number), source };
}
const TRAIN = line('train training/training.py:2229 loss_dict, skipped_iter = train_step(');
const STEP = line('train_step training/training.py:1326 losses_reduced = forward_backward_func(');
const MLP = 'forward core/transformer/mlp.py:214 intermediate_parallel, bias = self.linear_fc1(hidden_states)';
const NORM = line('forward core/transformer/transformer_layer.py:512 self.input_layernorm(');
const BACKWARD = line('backward core/tensor_parallel/layers.py:602 grad_input = grad_output.matmul(weight)');
const SETUP = line('setup_model_and_optimizer training/training.py:1093 model = get_model(');
const BUFFER = line('__init__ core/distributed/param_and_grad_buffer.py:731 self.param_data = torch.zeros(');
const OPTIMIZER = line('__init__ core/optimizer/distrib_optimizer.py:402 exp_avg = torch.zeros_like(shard)');
const GATHER = line('step core/optimizer/distrib_optimizer.py:2210 gathered = torch.empty(size)');
const VALIDATION = line('evaluate training/training.py:2700 scratch = torch.empty(size)');
/** Innermost first. */
export const PATHS = {
  weights: [BUFFER, SETUP],
  optimizer: [OPTIMIZER, SETUP],
  forward: [line(MLP), STEP, TRAIN],
  norm: [NORM, STEP, TRAIN],
  backward: [BACKWARD, STEP, TRAIN],
  gather: [GATHER, STEP, TRAIN],
  validation: [VALIDATION, TRAIN],
} as const;

export function train(process: SimulatedProcess, work: Workload, random: Random): Ending {
  const { torch, plan } = process;
  const nccl = plan.ncclDomain;
  const some = (low: number, high: number): number => wholeBetween(random, low, high);
  let op = some(1, 40);
  const nextOp = (name: string): string => {
    op += 1;
    return `${name}, op_id = ${op}`;
  };
  const ncclBuffer = (bytes: number, at?: number): number => {
    const address = process.allocate({ bytes, owner: 'nccl', api: MALLOC, ...(at === undefined ? {} : { at }) });
    if (address === null) throw new Error('no memory for a buffer of NCCL');
    return address;
  };

  /** Before the collection began: frees of these lack an allocation. */
  const bootstrap = (): number => {
    process.setClock(-1_500_000_000);
    const scratch = torch.malloc(512 * MIB - some(1, 90) * 512, PATHS.weights);
    torch.free(scratch);
    const address = ncclBuffer(pages(some(80, 120) * MIB));
    process.setClock(-1_200_000_000);
    if (nccl > 1) process.nameDomain('TransformerEngine', 1);
    process.nameDomain('NCCL', nccl);
    process.setClock(some(1_000_000, 4_000_000));
    return address;
  };

  const channels: number[] = [];
  const initNccl = (): void => {
    const sizes = [2, 4, 4, 8, 10];
    process.range('ncclCommInitRank', () => channels.push(...sizes.map((mib) => ncclBuffer(mib * MIB))), nccl);
    // Without a range, only the thread and the call chain identify the owner.
    process.on('nccl', () => {
      for (let i = 0; i < 2; i += 1) channels.push(ncclBuffer(10 * MIB));
    });
  };

  let validation: Tensor | null = null;
  const buildModel = (): void => {
    // Older than the snapshot's trace, though not than the report.
    torch.malloc(work.weightBytes, PATHS.weights);
    process.pass(20_000);
    torch.startHistory();
    validation = torch.malloc(pages(some(700, 800) * MIB), PATHS.validation);
    // The segment from before the collection goes.
    torch.emptyCache();
    torch.malloc(work.gradBytes, PATHS.weights);
    for (let i = 0; i < 2; i += 1) torch.malloc(work.optimizerBytes, PATHS.optimizer);
    for (let i = 0; i < 24; i += 1) torch.malloc(some(100, 1000) * KIB, PATHS.weights);
    for (let i = 0; i < 6; i += 1) torch.malloc(some(2, 9) * MIB, PATHS.weights);
  };

  const hostAndOtherKinds = (): void => {
    const pinned = { owner: 'pinned', kind: 'pinned' } as const;
    process.allocate({ bytes: 512 * MIB, api: 'cudaHostAlloc_v3020', ...pinned });
    const staging = process.allocate({ bytes: 64 * MIB, api: 'cudaHostAlloc_v3020', ...pinned })!;
    process.release(staging, 'cudaFreeHost_v3020');
    process.allocate({ bytes: 128 * MIB, owner: 'managed', kind: 'managed', api: 'cudaMallocManaged_v6000' });
  };

  const asyncPool = (): void => {
    process.createPool(0);
    const first = process.allocateAsync(some(20, 30) * MIB, COPY_STREAM);
    const second = process.allocateAsync(some(33, 60) * MIB, COPY_STREAM);
    process.releaseAsync(second, COPY_STREAM);
    process.trimPool(0);
    process.allocateAsync(some(1, 9) * MIB, COPY_STREAM);
    process.releaseAsync(first, COPY_STREAM);
  };

  const setUp = (bootstrapBuffer: number): void => {
    process.range('model setup', () => {
      const variable = { owner: 'static', kind: 'device_static' } as const;
      const lut = { ...variable, bytes: 4 * MIB, name: 'activation_lut' };
      const counters = { ...variable, bytes: 64 * KIB, name: 'tile_counters' };
      process.allocateInside('cuModuleLoadDataEx', [lut, counters], true);
      const parts = work.ncclFirst ? [initNccl, buildModel] : [buildModel, initNccl];
      for (const part of parts) part();
      process.release(bootstrapBuffer, FREE);
      hostAndOtherKinds();
      asyncPool();
      process.range('graph capture', () => {
        process.allocateInside('cudaGraphInstantiateWithFlags_v11040', [{ bytes: 64 * MIB, owner: 'graph' }]);
      });
    });
    process.on('unnamed', () => process.allocate({ bytes: pages(some(280, 320) * MIB), owner: 'other', api: MALLOC }));
  };

  const alone = { sourceDevice: null, targetDevice: null, api: 'cudaMemcpyAsync_v3020' };
  const loadBatch = (): void => {
    const up = { ...alone, copyKind: COPY.hostToDevice, targetKind: 'device' } as const;
    process.copy({ ...up, bytes: 32 * MIB, sourceKind: 'pinned' }, COPY_STREAM);
    process.copy({ ...up, bytes: some(100, 900) * KIB, sourceKind: 'pageable' }, COPY_STREAM);
  };

  const allReduce = (): void => {
    process.range('ncclAllReduce', () => process.launch(ALL_REDUCE, NCCL_STREAM, some(1500, 4000)), nccl);
  };

  /** Workspaces the libraries take for themselves, in their first step. */
  const firstUse = (): void => {
    const ask = (owner: 'cublas' | 'cudnn', name: string, bytes: number) => (): void => {
      process.library(owner, name, () => void process.allocate({ bytes, owner, api: MALLOC }));
    };
    process.range(nextOp('aten::bmm'), ask('cublas', 'cublasGemmStridedBatchedEx', 32 * MIB));
    process.range(nextOp('aten::cudnn_convolution'), ask('cudnn', 'cudnnBackendExecute', 108 * MIB));
    process.range('ncclAllReduce', () => channels.push(ncclBuffer(6 * MIB)), nccl);
    process.on('nccl', () => {
      process.range('ncclAllReduce', () => channels.push(ncclBuffer(4 * MIB), ncclBuffer(4 * MIB)), nccl);
    });
  };

  const forward = (index: number): Tensor[] => {
    const kept: Tensor[] = [];
    process.range('forward', () => {
      for (let layer = 0; layer < work.layers; layer += 1) {
        process.range(nextOp('aten::mm'), () => {
          kept.push(torch.malloc(work.activationBytes - layer * 512, PATHS.forward));
          if (layer % 2 === 0)
            process.library('cublas', 'cublasGemmEx', () => process.launch(GEMM, COMPUTE_STREAM, some(900, 2500)));
          else process.launch(GEMM, COMPUTE_STREAM, some(900, 2500));
        });
        process.range(nextOp('aten::native_layer_norm'), () => {
          kept.push(torch.malloc(some(200, 900) * KIB, PATHS.norm));
          process.launch(LAYER_NORM, COMPUTE_STREAM, some(80, 200));
        });
      }
      if (index === FIRST_STEP) firstUse();
      allReduce();
    });
    return kept;
  };

  /** On the autograd thread; compute and all-reduce overlap, each on its stream. */
  const backward = (kept: readonly Tensor[]): void => {
    process.on('autograd', () => {
      process.range('backward', () => {
        for (const [i, tensor] of [...kept].reverse().entries()) {
          process.range(nextOp('aten::mm'), () => {
            const temporary = torch.malloc(300 * MIB - i * 512, PATHS.backward);
            process.launch(GEMM, COMPUTE_STREAM, some(900, 2500));
            process.launch(ELEMENTWISE, COMPUTE_STREAM, some(50, 120));
            torch.free(temporary);
          });
          if (i % 4 === 3) allReduce();
          torch.free(tensor);
        }
      });
    });
  };

  const update = (): void => {
    process.range('optimizer.step', () => {
      process.memset(some(1, 4) * MIB, COMPUTE_STREAM);
      for (let i = 0; i < 4; i += 1) process.launch(ADAM, COMPUTE_STREAM, some(400, 900));
      const between = { sourceKind: 'device', targetKind: 'device' } as const;
      process.copy({ ...between, ...alone, copyKind: COPY.deviceToDevice, bytes: 256 * MIB }, COMPUTE_STREAM);
      const peerCopy = { sourceDevice: plan.device, targetDevice: 1 - plan.device, api: 'cudaMemcpyPeerAsync_v4000' };
      process.copy({ ...between, ...peerCopy, copyKind: COPY.peerToPeer, bytes: 16 * MIB }, COPY_STREAM);
    });
    const down = { ...alone, copyKind: COPY.deviceToHost, sourceKind: 'device', targetKind: 'pinned' } as const;
    process.copy({ ...down, bytes: 4 * KIB }, COMPUTE_STREAM);
    process.launchGraph(3, 4, COMPUTE_STREAM);
    process.poll(some(4, 9));
    process.waitFor(COMPUTE_STREAM);
  };

  /** One address after the other's hands: torch, NCCL, torch again; and a free that the report lost. */
  const handOver = (): void => {
    process.range('evaluation', () => {
      const { addr, sizeBytes } = validation!;
      torch.free(validation!);
      torch.emptyCache();
      const between = (): void => process.release(ncclBuffer(sizeBytes - some(40, 90) * 2 * MIB, addr), FREE);
      process.range('ncclAllReduce', between, nccl);
      torch.nextSegmentAt(addr);
      validation = torch.malloc(sizeBytes, PATHS.validation);
      let lost = 0;
      process.on('nccl', () => {
        lost = ncclBuffer(24 * MIB);
      });
      process.pass(300);
      process.loseFree(lost);
      process.range('ncclAllReduce', () => channels.push(ncclBuffer(12 * MIB, lost)), nccl);
    });
  };

  /** More than is free, less than the cache could give back: the driver refuses, torch flushes and asks again. */
  const retry = (): void => {
    process.range('optimizer.step', () => {
      const free = process.freeBytes();
      const gathered = torch.malloc(pages(free + torch.idleBytes() / 3), PATHS.gather);
      process.launch(ADAM, COMPUTE_STREAM, some(400, 900));
      torch.free(gathered);
    });
    process.range('evaluation', () => torch.emptyCache());
  };

  /** Nothing more fits: NCCL fails despite a cache that torch could release, then torch itself runs out. */
  const exhaust = (): OomReport => {
    let report: OomReport | undefined;
    process.range('forward', () => {
      const temporaries = [1, 2, 3, 4].map(() => torch.malloc(pages(some(180, 200) * MIB), PATHS.forward));
      for (const tensor of temporaries) torch.free(tensor);
      while (process.freeBytes() > 2.5 * GIB) {
        process.range(nextOp('aten::mm'), () => {
          torch.malloc(pages(1.25 * GIB + some(0, 40) * MIB), PATHS.forward);
          process.launch(GEMM, COMPUTE_STREAM, some(900, 2500));
        });
      }
      const tooMuch = () =>
        process.allocate({ bytes: pages(process.freeBytes() + 256 * MIB), owner: 'nccl', api: MALLOC });
      process.on('nccl', () => process.range('ncclAllReduce', tooMuch, nccl));
      const segmentBytes = process.freeBytes() + 512 * MIB;
      process.range('ncclMemAlloc', () => process.fail(segmentBytes, 'nccl', 'cuMemCreate'), nccl);
      process.range(nextOp('aten::cat'), () => {
        const bytes = process.freeBytes() + torch.idleBytes() + some(1200, 2400) * MIB - some(1, 900) * 512 - 17;
        report = torch.runOutOfMemory(bytes, PATHS.forward);
      });
    });
    return report!;
  };

  const bootstrapBuffer = bootstrap();
  setUp(bootstrapBuffer);
  let oom: Ending['oom'] = null;
  for (let index = FIRST_STEP; index <= LAST_STEP; index += 1) {
    process.pass(some(1500, 4000));
    const endsHere = work.runsOut && index === LAST_STEP;
    process.range(`iteration ${index}`, () => {
      process.mark('batch ready');
      loadBatch();
      const kept = forward(index);
      if (endsHere) {
        const report = exhaust();
        oom = { report, atNs: process.now() };
        return;
      }
      backward(kept);
      if (index === FIRST_STEP + 1)
        process.startEnd('checkpoint save', 77, 'unnamed', () => process.pass(some(300, 700)));
      update();
      if (index === FIRST_STEP + 1) handOver();
      if (work.runsOut && index === FIRST_STEP + 2) retry();
    });
  }
  const ending: Ending = { torch: torch.state(), atNs: process.now(), oom };
  process.pass(2000);
  if (work.runsOut) process.openRange('shutdown');
  for (const address of channels.slice(0, 3)) process.release(address, FREE);
  process.waitFor(COMPUTE_STREAM);
  return ending;
}
