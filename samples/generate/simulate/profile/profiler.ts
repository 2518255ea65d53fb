/**
 * Notes what a process does while it is simulated. One thread is active at a time, as the simulation walks through them
 * one after the other.
 */
import type { DriverObserver } from './observed-driver.js';
import type {
  Copy,
  DriverCall,
  DriverCaller,
  GpuWork,
  Kernel,
  KernelName,
  LibraryCall,
  ProfiledRange,
  ProfiledStream,
  ProfiledThread,
  ProfileRecording,
  Wait,
} from './recording.js';

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

/** What a thread takes to ask the device for work. */
export const LAUNCH_US = 5;
/** From there to the device's start, and between two pieces of work of one stream. */
const LATENCY_US = 3.6;
const GAP_US = 1.3;

export class Profiler {
  private readonly calls: DriverCall[] = [];
  private readonly ranges: Mutable<ProfiledRange>[] = [];
  private readonly library: LibraryCall[] = [];
  private readonly kernels: Kernel[] = [];
  private readonly copies: Copy[] = [];
  private readonly waits: Wait[] = [];
  private thread: ProfiledThread = 'main';
  private caller: DriverCaller = 'torch';
  private readonly open: Readonly<Record<ProfiledThread, Mutable<ProfiledRange>[]>> = {
    main: [],
    autograd: [],
    nccl_service: [],
  };
  private readonly streamEndUs: Record<ProfiledStream, number> = { compute: 0, data_parallel: 0, pipeline: 0 };
  private readonly threadFreeUs: Record<ProfiledThread, number> = { main: 0, autograd: 0, nccl_service: 0 };

  readonly observer: DriverObserver = (call) => {
    this.calls.push({ ...call, thread: this.thread, caller: this.caller });
  };

  recording(): ProfileRecording {
    const { calls, ranges, library, kernels, copies, waits } = this;
    return { calls, ranges, library, kernels, copies, waits };
  }

  /** From here on `thread` is active, and what it asks of the driver it asks as `caller`. */
  become(thread: ProfiledThread, caller: DriverCaller): void {
    this.thread = thread;
    this.caller = caller;
  }

  as<Result>(thread: ProfiledThread, caller: DriverCaller, body: () => Result): Result {
    const before = [this.thread, this.caller] as const;
    this.become(thread, caller);
    const result = body();
    this.become(...before);
    return result;
  }

  /** A range of the active thread. One that is never ended is one in which the process ended. */
  begin(text: string, atUs: number, domain: ProfiledRange['domain'] = 'default'): void {
    const range = { thread: this.thread, domain, text, startUs: atUs, endUs: null };
    this.ranges.push(range);
    this.open[this.thread].push(range);
  }

  end(atUs: number): void {
    const range = this.open[this.thread].pop();
    if (range === undefined) throw new Error('no range is open');
    range.endUs = atUs;
  }

  cublas(name: string, startUs: number, endUs: number): void {
    this.library.push({ thread: this.thread, name, startUs, endUs });
  }

  /** Runs for `us` as soon as the stream is free; launched at `atUs` or, where the thread is busy then, after that. */
  kernel(kernel: KernelName, stream: ProfiledStream, us: number, atUs: number): void {
    this.kernels.push({ ...this.submit(stream, us, atUs), kernel });
  }

  copy(operation: Copy['operation'], bytes: number, stream: ProfiledStream, us: number, atUs: number): void {
    this.copies.push({ ...this.submit(stream, us, atUs), operation, bytes });
  }

  /** From `atUs` until the stream is done, at `endUs` at the earliest. */
  wait(stream: ProfiledStream, atUs: number, endUs: number): void {
    const startUs = this.freeTime(atUs);
    const doneUs = Math.max(endUs, startUs + LAUNCH_US, this.streamEndUs[stream]);
    this.threadFreeUs[this.thread] = doneUs;
    this.waits.push({ thread: this.thread, stream, startUs, endUs: doneUs });
  }

  private submit(stream: ProfiledStream, us: number, atUs: number): GpuWork {
    const launchUs = this.freeTime(atUs);
    this.threadFreeUs[this.thread] = launchUs + LAUNCH_US;
    const startUs = Math.max(launchUs + LAUNCH_US + LATENCY_US, this.streamEndUs[stream] + GAP_US);
    this.streamEndUs[stream] = startUs + us;
    return { thread: this.thread, launchUs, stream, startUs, endUs: startUs + us };
  }

  /** When the active thread is free for a launch, from `atUs` on. */
  private freeTime(atUs: number): number {
    let freeUs = Math.max(atUs, this.threadFreeUs[this.thread]);
    const later = this.calls.slice(this.calls.findLastIndex(({ endUs }) => endUs <= freeUs) + 1);
    for (const { thread, startUs, endUs } of later) {
      if (thread === this.thread && startUs < freeUs + LAUNCH_US && endUs > freeUs) freeUs = endUs;
    }
    return freeUs;
  }
}
