/**
 * Decodes files on a second core while this one writes: decoding and appending take about the same time, so a long file
 * is done in little more than half of it, and of many files several are decoded while those before them are written.
 * The threads serve a whole ingest: starting one and compiling its code takes as long as decoding 100,000 entries.
 *
 * It also keeps a file from taking the whole ingest with it. A thread that runs out of memory, or that sends nothing
 * for too long, is ended: its file has failed, and a new thread reads those after it. Formats that are read into a tree
 * have a thread with less memory, from a smaller size on.
 */
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { ErrorCode } from '../../model/errors.js';
import type { ParseContext, ParserSpec } from '../../model/parser.js';
import { KIB, MIB } from '../../model/units.js';
import type { DerivedSink } from '../derive/derive-snapshot.js';
import { BUFFER_BYTES, type DecoderJob, type DecoderLink, type FromDecoder, TAKEN } from './decode-protocol.js';
import type { DecodedSource } from './decode-source.js';
import { type DecodedFile, isEnd, keepReceived, type Messages, receive } from './receive-rows.js';

/**
 * Of all files of a run, for each thread. Below, starting it and compiling its code takes a quarter of the time of the
 * whole ingest.
 */
export const THREAD_FROM_BYTES = 8 * MIB;
/** Of one file: below, handing it over takes as long as decoding it. */
const FILE_FROM_BYTES = 64 * KIB;
/** Of a format that is read into a tree. Up to here any text takes less than 200 MB and a second. */
export const GUARDED_FROM_BYTES = 128 * KIB;

const THREAD = new URL('./decode-thread.js', import.meta.url);

/** What a thread may take. */
export interface ThreadLimits {
  /** Of objects; buffers are not counted. Node's own default if undefined. */
  readonly heapMib: number | undefined;
  /** Without a row, and without a byte read. */
  readonly silentMs: number;
}

/** `bulk`: decoding pays there. `guarded`: the file may take more memory or time than its format needs. */
export type ThreadKind = 'bulk' | 'guarded';

/**
 * The limits of the readers keep a tree below 500 MB, and a file below 5 s; these are for what the limits miss. A
 * snapshot of 10 GB is sorted for a minute between two rows.
 */
export const THREAD_LIMITS: Readonly<Record<ThreadKind, ThreadLimits>> = {
  bulk: { heapMib: undefined, silentMs: 1_800_000 },
  guarded: { heapMib: 768, silentMs: 120_000 },
};

/**
 * The thread for a file of a run; undefined if it is decoded in this one. TypeScript sources, as under test, cannot
 * start a thread of their own kind.
 */
export function threadFor(
  parser: Pick<ParserSpec, 'buildsTree'>,
  sizeBytes: number,
  isCompressed: boolean,
  runBytes: number = sizeBytes,
): ThreadKind | undefined {
  if (import.meta.url.endsWith('.ts')) return undefined;
  // What is compressed may be a thousand times as large.
  if (parser.buildsTree === true && (isCompressed || sizeBytes >= GUARDED_FROM_BYTES)) return 'guarded';
  const isWorthIt = runBytes >= THREAD_FROM_BYTES && sizeBytes >= FILE_FROM_BYTES;
  return isWorthIt && availableParallelism() > 1 ? 'bulk' : undefined;
}

/** One core writes. */
const bulkThreads = (): number => Math.max(1, availableParallelism() - 1);

/** What a thread takes, beyond the size of its file: of 6 MB it took 30 MB, of 80 MB 120 MB. */
const THREAD_BYTES = 64 * MIB;

/** Sizes of files to decode, compressed ones by what is usual. */
export function decodedBytes(files: readonly { readonly path: string; readonly sizeBytes: number }[]): number {
  return files.reduce((sum, { path, sizeBytes }) => sum + sizeBytes * (/\.(?:gz|zst|zstd)$/i.test(path) ? 8 : 1), 0);
}

/** A file that is decoded or waits to be, up to a few batches ahead of the consumer of its rows. */
export interface Decoding {
  /**
   * As `decodeSource` in this thread: the same calls to `sink` in the same order, the same errors. To be called once,
   * and in the order of {@link DecodeThreads.start}.
   */
  run(sink: DerivedSink, context: Pick<ParseContext, 'progress'>): Promise<DecodedSource>;
  /** In place of {@link run}: all of a small file first; undefined if it turns out to be large. */
  keep(context: Pick<ParseContext, 'progress'>): Promise<DecodedFile | undefined>;
}

interface DecodeThreadsOptions {
  readonly limits?: Readonly<Record<ThreadKind, ThreadLimits>>;
  /** What a thread runs. */
  readonly program?: URL;
  /** Threads for bulky files. */
  readonly bulk?: number | undefined;
  /** What they may take together; default: half of what the machine or its control group has left. */
  readonly memoryBytes?: number | undefined;
}

/**
 * A thread of each kind and, of several bulky files, one for each core but that of the writer, started with their first
 * files. Close them whatever happens, or the process does not end.
 */
export class DecodeThreads {
  private readonly links: Readonly<Record<ThreadKind, ThreadLink[]>> = { bulk: [], guarded: [] };
  private readonly limits: Readonly<Record<ThreadKind, ThreadLimits>>;
  private readonly program: URL;
  /** At most, of bulky files. */
  private readonly bulk: number;
  private readonly memoryBytes: number;

  constructor({
    limits = THREAD_LIMITS,
    program = THREAD,
    bulk = bulkThreads(),
    memoryBytes = process.availableMemory() / 2,
  }: DecodeThreadsOptions = {}) {
    this.limits = limits;
    this.program = program;
    this.bulk = bulk;
    this.memoryBytes = memoryBytes;
  }

  /** Whether files may be decoded, or wait until they are written, all at once: one always may. */
  mayHold(files: Parameters<typeof decodedBytes>[0]): boolean {
    const bytes = decodedBytes(files) + files.length * THREAD_BYTES;
    return files.length <= 1 || (files.length <= this.bulk + 1 && bytes <= this.memoryBytes);
  }

  /** `runBytes`: {@link decodedBytes} of its run. */
  start(job: DecoderJob, kind: ThreadKind = 'bulk', runBytes = Number.POSITIVE_INFINITY): Decoding {
    const most = kind === 'bulk' ? Math.min(this.bulk, Math.ceil(runBytes / THREAD_FROM_BYTES)) : 1;
    const link = this.linkFor(kind, most);
    link.post(job);
    return { run: (sink, context) => receive(link, sink, context), keep: (context) => keepReceived(link, context) };
  }

  /** The one with the fewest files to decode. */
  private linkFor(kind: ThreadKind, most: number): ThreadLink {
    const links = this.links[kind];
    const least = links.reduce<ThreadLink | undefined>(
      (best, link) => (best === undefined || link.waiting < best.waiting ? link : best),
      undefined,
    );
    if (least !== undefined && (least.waiting === 0 || links.length >= most)) return least;
    const added = new ThreadLink(this.limits[kind], this.program);
    links.push(added);
    return added;
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.links).flatMap((links) => links.splice(0).map((link) => link.close())));
  }
}

/** A running thread, the messages that came from it, and the files it has yet to decode. */
class ThreadLink implements Messages {
  private readonly limits: ThreadLimits;
  /** Files that were posted and have not ended, the one that is being decoded first. */
  private readonly jobs: DecoderJob[] = [];
  private running: Running | undefined;
  private readonly program: URL;

  constructor(limits: ThreadLimits, program: URL) {
    this.limits = limits;
    this.program = program;
  }

  get waiting(): number {
    return this.jobs.length;
  }

  post(job: DecoderJob): void {
    this.jobs.push(job);
    this.running ??= this.started([]);
    this.running.worker.postMessage(job);
  }

  /** The next message. The end of a thread is that of its file, after the messages before it. */
  async next(): Promise<FromDecoder> {
    const message = await this.received();
    if (isEnd(message)) this.jobs.shift();
    return message;
  }

  private async received(): Promise<FromDecoder> {
    for (;;) {
      const running = this.running ?? this.started(this.jobs);
      this.running = running;
      const message = running.queue.shift();
      if (message !== undefined) {
        count(running, TAKEN.messages);
        return message;
      }
      if (running.end !== undefined) {
        this.running = undefined;
        await ended(running);
        // Those behind it are decoded by another.
        if (this.jobs.length > 1) this.running = this.started(this.jobs.slice(1));
        return running.end;
      }
      await this.rung(running);
    }
  }

  /** Waits for a message or the end of the thread, but no longer than it may be silent. */
  private async rung(running: Running): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const isRung = await new Promise<boolean>((resolve) => {
      running.wake = () => resolve(true);
      timer = setTimeout(() => resolve(false), this.limits.silentMs);
    });
    clearTimeout(timer);
    if (isRung) return;
    const seconds = this.limits.silentMs / 1000;
    running.end = failure('MBF2012', `was read for ${seconds} s without a result, which is the limit`);
  }

  private started(jobs: readonly DecoderJob[]): Running {
    const { port1, port2 } = new MessageChannel();
    const taken = new Int32Array(new SharedArrayBuffer(8));
    const workerData: DecoderLink = { taken: taken.buffer as SharedArrayBuffer, buffers: port2 };
    const { heapMib } = this.limits;
    const resourceLimits = heapMib === undefined ? {} : { maxOldGenerationSizeMb: heapMib };
    const worker = new Worker(this.program, { workerData, transferList: [port2], resourceLimits });
    const running: Running = {
      worker,
      taken,
      buffers: port1,
      queue: [],
      end: undefined,
      wake: undefined,
    };
    worker.on('message', (message: FromDecoder) => {
      running.queue.push(message);
      ring(running);
    });
    worker.on('error', (error: Error) => {
      running.end ??= endOf(error, worker.resourceLimits?.maxOldGenerationSizeMb ?? heapMib);
      ring(running);
    });
    worker.on('exit', () => {
      running.end ??= failure('MBF2011', 'ended the thread that read it');
      ring(running);
    });
    for (const job of jobs) worker.postMessage(job);
    return running;
  }

  giveBack(buffer: ArrayBuffer): void {
    const { running } = this;
    if (running === undefined || buffer.byteLength < BUFFER_BYTES) return; // a small batch's own
    running.buffers.postMessage(buffer, [buffer]);
    count(running, TAKEN.buffers);
  }

  async skipFile(): Promise<void> {
    for (;;) {
      const message = await this.next();
      if (isEnd(message)) return;
      if (message.type === 'rows') this.giveBack(message.buffer);
    }
  }

  async close(): Promise<void> {
    if (this.running !== undefined) await ended(this.running);
    this.running = undefined;
  }
}

interface Running {
  readonly worker: Worker;
  readonly taken: Int32Array;
  readonly buffers: MessagePort;
  readonly queue: FromDecoder[];
  /** What ended it; comes after the queue. */
  end: FromDecoder | undefined;
  wake: (() => void) | undefined;
}

async function ended({ worker, buffers }: Running): Promise<void> {
  await worker.terminate();
  buffers.close();
}

function count({ taken }: Running, what: number): void {
  Atomics.add(taken, what, 1);
  Atomics.notify(taken, what);
}

function ring(running: Running): void {
  running.wake?.();
  running.wake = undefined;
}

function failure(code: ErrorCode, fact: string): FromDecoder {
  return { type: 'failed', code, fact, place: {} };
}

function endOf(error: Error, heapMib: number | undefined): FromDecoder {
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
    return failure('MBF2011', `takes more than ${heapMib ?? '?'} MiB of memory to read`);
  return { type: 'bug', message: String(error), stack: error.stack ?? '' };
}
