/** One training process as the allocator sees it: requests with call stacks at certain times, and the trace torch would record of them. */
import type { Block } from '../../../src/allocator/block.js';
import { CachingAllocator, type TraceEntry } from '../../../src/allocator/caching-allocator.js';
import { createDriver, type SimulatedDriver } from '../../../src/allocator/driver.js';
import type { OomReport } from '../../../src/allocator/oom-message.js';
import type { CallPath } from './code-line.js';
import { createRandom } from './random.js';

/** One captured stack. Two captures of the same path are two objects, as torch captures each time anew. */
export interface Traceback {
  readonly frames: CallPath;
}

export type Tensor = Block<Traceback>;

/** `record_function` scopes as torch's snapshot lists them. */
export interface Annotation {
  readonly stage: 'START' | 'END';
  readonly name: string;
  readonly timeUs: number;
}

/** Thrown where the training script would get `torch.OutOfMemoryError`. */
export class RankOutOfMemory extends Error {
  readonly report: OomReport;
  readonly path: CallPath;

  constructor(report: OomReport, path: CallPath) {
    super('out of memory');
    this.report = report;
    this.path = path;
  }
}

export interface RankProcess {
  readonly rank: number;
  readonly device: number;
  readonly allocator: CachingAllocator<Traceback>;
  readonly driver: SimulatedDriver;
  readonly trace: readonly TraceEntry<Traceback>[];
  readonly annotations: Annotation[];
  now(): number;
  /** Lets `us` microseconds pass. */
  pass(us: number): void;
  /** Moves the clock to `us` if that is later: a collective that waits for the slowest rank. */
  waitUntil(us: number): void;
  malloc(bytes: number, path: CallPath): Tensor;
  free(tensor: Tensor): void;
}

export interface RankProcessOptions {
  readonly rank: number;
  readonly device: number;
  readonly totalBytes: number;
  /** CUDA context and libraries before the first allocation. */
  readonly contextBytes: number;
  readonly startUs: number;
  readonly seed: number;
}

export function createRankProcess(options: RankProcessOptions): RankProcess {
  const { rank, device, totalBytes, contextBytes } = options;
  const random = createRandom(options.seed);
  // Each process has its own address space; where the driver starts differs from process to process.
  const baseAddress = 0x7f00_0000_0000 + Math.floor(random() * 2 ** 14) * 2 ** 25;
  const driver = createDriver({ totalBytes, nonTorchBytes: contextBytes, baseAddress });
  const trace: TraceEntry<Traceback>[] = [];
  const allocator = new CachingAllocator<Traceback>({ driver, trace: (entry) => trace.push(entry) });
  let clockUs = options.startUs;
  const pass = (us: number): void => {
    clockUs += Math.round(us);
  };
  return {
    rank,
    device,
    allocator,
    driver,
    trace,
    annotations: [],
    now: () => clockUs,
    pass,
    waitUntil: (us) => {
      clockUs = Math.max(clockUs, us);
    },
    malloc(bytes, path) {
      pass(6 + random() * 30);
      const result = allocator.malloc(bytes, 0, { frames: path }, clockUs);
      if (!result.ok) throw new RankOutOfMemory(result.oom, path);
      return result.block;
    },
    free(tensor) {
      pass(2 + random() * 6);
      allocator.free(tensor, null, clockUs);
    },
  };
}
