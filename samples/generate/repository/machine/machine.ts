/** One rank at work: its memory, its clock, its autograd, its Python stack. What the interpreter and the library run on. */
import type { CallPath } from '../../simulate/code-line.js';
import type { RankProcess } from '../../simulate/rank-process.js';
import type { CallStack } from './call-stack.js';
import type { Costs } from './costs.js';
import { PythonException } from './python-exception.js';
import { type Counted, type DType, Func, isCounted, List, Storage, Tensor, type Value } from './values.js';

/** Mean time of an allocation and of a free, which the process adds by itself. */
const MALLOC_US = 21;
const FREE_US = 5;

/** What the training loop tells the world outside. */
export interface Observer {
  /** The configuration as the program printed it: dotted keys. */
  configured(values: ReadonlyMap<string, string | number | boolean | null>): void;
  /** How many ranks the tensor and data groups have. */
  worldSize(): number;
  processGroups(): void;
  stepBegins(): void;
  stepEnds(): void;
  dump(): void;
}

export class Machine {
  readonly process: RankProcess;
  readonly stack: CallStack;
  readonly costs: Costs;
  readonly observer: Observer;
  /** How much slower than planned the device is at present: 1.01 = by one per cent. */
  pace = 1;
  /** Time on a device without noise. */
  nominalUs = 0;
  isRecordingGradients = true;
  /** Operations recorded so far. */
  operations = 0;
  /** Depth of fused functions: what they compute is not stored but for the result. */
  fusing = 0;
  collectsGarbage = true;
  /** Collectives that somebody started and never waited for, by name. */
  readonly abandoned = new Set<string>();
  /** Tensors of the library that live as long as the process. */
  readonly persistent = new Map<string, Tensor>();
  /** The module made last: the outermost. */
  model: Value = null;
  /** Files of the repository. */
  readonly files: ReadonlyMap<string, string>;

  constructor(
    process: RankProcess,
    stack: CallStack,
    costs: Costs,
    observer: Observer,
    files: ReadonlyMap<string, string>,
  ) {
    this.process = process;
    this.stack = stack;
    this.costs = costs;
    this.observer = observer;
    this.files = files;
  }

  /** `Type: text`, raised by the line that runs now. */
  exception(exception: string): PythonException {
    return new PythonException(exception, this.stack.traceback());
  }

  raise(exception: string): never {
    throw this.exception(exception);
  }

  /** A tensor on the device; inside a fused function one that is never stored. */
  tensor(shape: readonly number[], dtype: DType): Tensor {
    if (this.fusing > 0) return new Tensor(shape, dtype, new Storage(null));
    const bytes = shape.reduce((product, size) => product * size, dtype.bytes);
    return new Tensor(shape, dtype, this.allocate(bytes));
  }

  hostTensor(shape: readonly number[], dtype: DType): Tensor {
    return new Tensor(shape, dtype, new Storage(null));
  }

  /** Another view of the same memory. */
  view(of: Tensor, shape: readonly number[], dtype = of.dtype): Tensor {
    return new Tensor(shape, dtype, of.storage);
  }

  /** Gives a result of a fused function its memory. */
  materialise(value: Value): void {
    if (!(value instanceof Tensor) || value.storage.block !== null) return;
    const storage = this.allocate(value.bytes);
    value.storage.refs -= 1;
    storage.refs += 1;
    value.storage = storage;
    this.touch(3 * value.bytes);
  }

  private allocate(bytes: number): Storage {
    this.nominalUs += MALLOC_US;
    return new Storage(this.process.malloc(Math.max(1, bytes), this.stack.path()));
  }

  /** Lets go of a value that was held. */
  release(value: Value): void {
    if (!isCounted(value)) return;
    value.refs -= 1;
    if (value.refs <= 0) this.destroy(value);
  }

  /** Frees a value that nobody ever held. */
  dispose(value: Value): void {
    if (isCounted(value) && value.refs === 0) this.destroy(value);
  }

  /** The storage of `tensor` becomes that of `other`: `param.data = …`. */
  alias(tensor: Tensor, other: Tensor): void {
    const old = tensor.storage;
    other.storage.refs += 1;
    tensor.storage = other.storage;
    this.drop(old);
  }

  private destroy(value: Counted): void {
    if (value instanceof Func) {
      const captured = value.captured ?? [];
      value.captured = null;
      for (const variable of captured) this.release(variable);
      return;
    }
    if (value instanceof List) {
      for (const item of value.items.splice(0)) this.release(item);
      return;
    }
    if (value.isFreed) return;
    value.isFreed = true;
    for (const attribute of value.attributes.values()) this.release(attribute);
    this.drop(value.storage);
  }

  private drop(storage: Storage): void {
    storage.refs -= 1;
    if (storage.refs > 0 || storage.block === null) return;
    this.nominalUs += FREE_US;
    this.process.free(storage.block);
  }

  /** The device works, or the host waits. */
  spend(us: number): void {
    this.nominalUs += us;
    this.process.pass(us * this.pace);
  }

  /** A matrix product. */
  compute(flops: number): void {
    if (this.fusing === 0) this.spend(this.costs.launchUs + flops / this.costs.flopsPerUs);
  }

  /** A kernel that reads and writes so many bytes. */
  touch(bytes: number): void {
    if (this.fusing === 0) this.spend(this.costs.launchUs + bytes / this.costs.bytesPerUs);
  }

  /** A collective that moves so many bytes; `exposed`: the part of it that nothing hides. */
  collective(bytes: number, over: 'tensor' | 'data', exposed: number): void {
    const { linkBytesPerUs, networkBytesPerUs } = this.costs;
    this.spend(18 + (exposed * bytes) / (over === 'tensor' ? linkBytesPerUs : networkBytesPerUs));
  }

  synchronise(): void {
    this.spend(this.costs.synchroniseUs);
  }

  /** Runs `body` inside library frames, innermost first. */
  within<T>(frames: CallPath, body: () => T): T {
    return this.stack.within(frames, body);
  }
}
