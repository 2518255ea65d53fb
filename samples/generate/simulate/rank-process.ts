/**
 * One training process as the allocator sees it: requests with call stacks at certain times, and the trace torch would
 * record of them.
 */
import type { Block } from '../../../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../../../src/allocator/caching/caching-allocator.js';
import type { OomReport } from '../../../src/allocator/oom-report.js';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../../src/allocator/settings.js';
import { type AllocatorVariant, DEFAULT_VARIANT } from '../../../src/allocator/variants.js';
import type { CallPath } from './code-line.js';
import type { DeviceMoment, OtherProcess } from './device-moment.js';
import { type DriverObserver, observedDriver } from './profile/observed-driver.js';
import { createRandom, deriveSeed } from './random.js';
import { createDriver, type SimulatedDriver } from './simulated-driver.js';

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

/** Thrown where the training script would raise anything else. */
export class RankRaised extends Error {
  /** The traceback's last part: `Type: text`, possibly of several lines. */
  readonly exception: string;
  readonly path: CallPath;

  constructor(exception: string, path: CallPath) {
    super(exception);
    this.exception = exception;
    this.path = path;
  }
}

/** Thrown where the process is killed. */
export class RankSignalled extends Error {
  readonly signal: 'SIGKILL' | 'SIGABRT' | 'SIGSEGV';

  constructor(signal: 'SIGKILL' | 'SIGABRT' | 'SIGSEGV') {
    super(signal);
    this.signal = signal;
  }
}

export interface RankProcess {
  readonly rank: number;
  readonly device: number;
  readonly allocator: CachingAllocator<Traceback>;
  readonly driver: SimulatedDriver;
  /** Empty where nothing is recorded. */
  readonly trace: readonly TraceEntry<Traceback>[];
  readonly annotations: Annotation[];
  /** What the device held, change by change; empty if not watched. */
  readonly moments: readonly DeviceMoment[];
  now(): number;
  /** Lets `us` microseconds pass. */
  pass(us: number): void;
  /** Moves the clock to `us` if that is later: a collective that waits for the slowest rank. */
  waitUntil(us: number): void;
  /** On the current stream unless another is given. */
  malloc(bytes: number, path: CallPath, stream?: number): Tensor;
  free(tensor: Tensor): void;
  /** A stream as torch prints it: the address of the driver's object. */
  newStream(): number;
  /** `with torch.cuda.stream(stream)` around `body`; outside the current stream is the default one (0). */
  withStream(stream: number, body: () => void): void;
  /** A `record_function` scope around `body`. */
  annotate(name: string, body: () => void): void;
  /** What others hold on the device from now on; false (and no change) if it lacks the memory. */
  setOtherProcesses(processes: readonly OtherProcess[]): boolean;
}

export interface RankProcessOptions {
  readonly rank: number;
  readonly device: number;
  readonly totalBytes: number;
  /** CUDA context and libraries before the first allocation. */
  readonly contextBytes: number;
  /** On the device from the start. */
  readonly otherProcesses?: readonly OtherProcess[];
  readonly startUs: number;
  readonly seed: number;
  readonly settings?: AllocatorSettings;
  readonly variant?: AllocatorVariant;
  readonly memoryFraction?: number | null;
  /** Whether memory history is recorded from the first allocation on. Default: yes. */
  readonly records?: boolean;
  /** Whether the moments of the device are kept. Default: no. */
  readonly watches?: boolean;
  /**
   * Called for every call of the driver. Calls take time then, and the trace has the time of each; without, they take
   * none.
   */
  readonly observer?: DriverObserver | undefined;
}

export function createRankProcess(options: RankProcessOptions): RankProcess {
  const { rank, device, totalBytes, contextBytes, settings = DEFAULT_SETTINGS, variant = DEFAULT_VARIANT } = options;
  const { memoryFraction = null, records = true, watches = false, observer } = options;
  let otherProcesses = options.otherProcesses ?? [];
  const random = createRandom(options.seed);
  // Each process has its own address space; where the driver starts differs from process to process.
  const baseAddress = 0x7f00_0000_0000 + Math.floor(random() * 2 ** 14) * 2 ** 25;
  const plainDriver = createDriver({
    totalBytes,
    nonTorchBytes: contextBytes,
    otherProcessBytes: bytesOf(otherProcesses),
    baseAddress,
  });
  let clockUs = options.startUs;
  const pass = (us: number): void => {
    clockUs += Math.round(us);
  };
  const driver =
    observer === undefined
      ? plainDriver
      : observedDriver(plainDriver, {
          now: () => clockUs,
          pass,
          random: createRandom(deriveSeed(options.seed, 'driver')),
          observer,
        });
  const trace: TraceEntry<Traceback>[] = [];
  const annotations: Annotation[] = [];
  const allocator = new CachingAllocator<Traceback>({
    driver,
    settings,
    variant,
    ...(memoryFraction === null ? {} : { memoryFraction }),
    ...(records
      ? { trace: (entry) => trace.push(observer === undefined ? entry : { ...entry, timeUs: clockUs }) }
      : {}),
  });
  const moments: DeviceMoment[] = [];
  const note = (): void => {
    if (!watches) return;
    const last = moments.at(-1);
    const reservedBytes = allocator.statistics.reservedBytes.current;
    const { processBytes } = driver.memory();
    const isSame =
      last?.reservedBytes === reservedBytes &&
      last.processBytes === processBytes &&
      last.otherProcesses === otherProcesses;
    if (!isSame) moments.push({ timeUs: clockUs, reservedBytes, processBytes, otherProcesses });
  };
  note();
  let currentStream = 0;
  let streamAddress = 0;
  return {
    rank,
    device,
    allocator,
    driver,
    trace,
    annotations,
    moments,
    now: () => clockUs,
    pass,
    waitUntil: (us) => {
      clockUs = Math.max(clockUs, Math.round(us));
    },
    malloc(bytes, path, stream = currentStream) {
      pass(6 + random() * 30);
      const result = allocator.malloc(bytes, stream, { frames: path }, clockUs);
      // A failing request has given back what it could: that is a change, too.
      note();
      if (!result.ok) throw new RankOutOfMemory(result.oom, path);
      return result.block;
    },
    free(tensor) {
      pass(2 + random() * 6);
      allocator.free(tensor, null, clockUs);
    },
    newStream() {
      if (streamAddress === 0) streamAddress = 0x5500_0000_0000 + Math.floor(random() * 2 ** 24) * 2 ** 16;
      streamAddress += 0x9c0 + Math.floor(random() * 64) * 16;
      return streamAddress;
    },
    withStream(stream, body) {
      const outer = currentStream;
      currentStream = stream;
      try {
        body();
      } finally {
        currentStream = outer;
      }
    },
    annotate(name, body) {
      if (records) annotations.push({ stage: 'START', name, timeUs: clockUs });
      body();
      if (records) annotations.push({ stage: 'END', name, timeUs: clockUs });
    },
    setOtherProcesses(processes) {
      if (!driver.setOtherProcessBytes(bytesOf(processes))) return false;
      otherProcesses = processes;
      note();
      return true;
    },
  };
}

function bytesOf(processes: readonly OtherProcess[]): number {
  return processes.reduce((sum, { bytes }) => sum + bytes, 0);
}
