/**
 * Decodes files on a second core while this one writes: decoding and appending take about the same time, so a long file
 * is done in little more than half of it, and of many files each is decoded while the one before it is committed. One
 * thread serves a whole ingest: starting it and compiling its code takes as long as decoding 100,000 entries.
 *
 * It also keeps a file from taking the whole ingest with it. A thread that runs out of memory, or that sends nothing
 * for too long, is ended: its file has failed, and a new thread reads those after it. Formats that are read into a tree
 * have a thread with less memory, from a smaller size on.
 */
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { ColumnBatch } from '../../model/columns.js';
import { type ErrorCode, MbfError } from '../../model/errors.js';
import { getOrAdd } from '../../model/group-by.js';
import type { ParseContext, ParserSpec } from '../../model/parser.js';
import { KIB, MIB } from '../../model/units.js';
import type { DerivedSink, DerivedSnapshotSink } from '../derive/derive-snapshot.js';
import {
  BUFFER_BYTES,
  type DecoderJob,
  type DecoderLink,
  type FromDecoder,
  layoutOf,
  ReceivedDictionary,
  type Sinks,
  TAKEN,
} from './decode-protocol.js';
import type { DecodedSource } from './decode-source.js';

/** On disk. Below this a file is decoded before the thread has started. */
export const THREAD_FROM_BYTES = MIB;
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
 * The thread for a file; undefined if it is decoded in this one. TypeScript sources, as under test, cannot start a
 * thread of their own kind.
 */
export function threadFor(
  parser: Pick<ParserSpec, 'buildsTree'>,
  sizeBytes: number,
  isCompressed: boolean,
): ThreadKind | undefined {
  if (import.meta.url.endsWith('.ts')) return undefined;
  // What is compressed may be a thousand times as large.
  if (parser.buildsTree === true && (isCompressed || sizeBytes >= GUARDED_FROM_BYTES)) return 'guarded';
  return sizeBytes >= THREAD_FROM_BYTES && availableParallelism() > 1 ? 'bulk' : undefined;
}

/** A file that is decoded or waits to be, up to a few batches ahead of the consumer of its rows. */
export interface Decoding {
  /**
   * As `decodeSource` in this thread: the same calls to `sink` in the same order, the same errors. To be called once,
   * and in the order of {@link DecodeThread.start}.
   */
  run(sink: DerivedSink, context: Pick<ParseContext, 'progress'>): Promise<DecodedSource>;
}

/** One thread of each kind, started with its first file. Close it whatever happens, or the process does not end. */
export class DecodeThread {
  private readonly links = new Map<ThreadKind, ThreadLink>();
  private readonly limits: Readonly<Record<ThreadKind, ThreadLimits>>;

  private readonly program: URL;

  /** `program`: what the thread runs. */
  constructor(limits: Readonly<Record<ThreadKind, ThreadLimits>> = THREAD_LIMITS, program: URL = THREAD) {
    this.limits = limits;
    this.program = program;
  }

  start(job: DecoderJob, kind: ThreadKind = 'bulk'): Decoding {
    const link = getOrAdd(this.links, kind, () => new ThreadLink(this.limits[kind], this.program));
    link.post(job);
    return { run: (sink, context) => receive(link, sink, context) };
  }

  async close(): Promise<void> {
    for (const link of this.links.values()) await link.close();
    this.links.clear();
  }
}

async function receive(
  link: ThreadLink,
  sink: DerivedSink,
  context: Pick<ParseContext, 'progress'>,
): Promise<DecodedSource> {
  let snapshot: DerivedSnapshotSink | undefined;
  const dictionary = new ReceivedDictionary();
  let hasEnded = false;
  const called = (name: keyof Sinks) => ({ source: sink, snapshot, nsys: sink.nsys })[name];
  try {
    for (;;) {
      const message = await link.next();
      switch (message.type) {
        case 'snapshot':
          snapshot = await sink.snapshot(dictionary, dictionary);
          break;
        case 'call': {
          const methods = called(message.sink) as Readonly<Record<string, (...args: unknown[]) => unknown>> | undefined;
          const pending = methods?.[message.method]?.(...message.args);
          if (pending instanceof Promise) await pending;
          break;
        }
        case 'rows': {
          const { of, rows, buffer } = message;
          const batch = new ColumnBatch(layoutOf(of), rows, buffer);
          batch.rows = rows;
          if (of.sink === 'nsys') sink.nsys?.rows(of.kind, batch);
          else if (of.sink === 'source') sink.textRows(of.kind, batch, of.newTexts);
          else {
            dictionary.add(of.dictionary);
            snapshot?.[of.kind](batch);
          }
          link.giveBack(buffer);
          break;
        }
        case 'snapshot_end':
          dictionary.add(message.dictionary);
          snapshot?.end(message.summary, message.derivation);
          break;
        case 'progress':
          context.progress?.(message.bytes);
          break;
        case 'done':
          hasEnded = true;
          return { summary: message.summary, sha256: message.sha256 };
        case 'failed':
          hasEnded = true;
          throw new MbfError(message.code, message.fact, message.place);
        case 'bug': {
          hasEnded = true;
          const bug = new Error(message.message);
          bug.stack = message.stack;
          throw bug;
        }
      }
    }
  } finally {
    if (!hasEnded) await link.skipFile();
  }
}

/** A running thread, the messages that came from it, and the files it has yet to decode. */
class ThreadLink {
  private readonly limits: ThreadLimits;
  /** Files that were posted and have not ended, the one that is being decoded first. */
  private readonly jobs: DecoderJob[] = [];
  private running: Running | undefined;
  private readonly program: URL;

  constructor(limits: ThreadLimits, program: URL) {
    this.limits = limits;
    this.program = program;
  }

  post(job: DecoderJob): void {
    this.jobs.push(job);
    this.running ??= this.started([]);
    this.running.worker.postMessage(job);
  }

  /** The next message. The end of a thread is that of its file, after the messages before it. */
  async next(): Promise<FromDecoder> {
    const message = await this.received();
    if (message.type === 'done' || message.type === 'failed' || message.type === 'bug') this.jobs.shift();
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

  /** Discards the remaining batches of a file whose rows are not needed: those of the next file follow them. */
  async skipFile(): Promise<void> {
    for (;;) {
      const message = await this.next();
      if (message.type === 'done' || message.type === 'failed' || message.type === 'bug') return;
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
