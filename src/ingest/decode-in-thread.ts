/**
 * Decodes files on a second core while this one writes: decoding and appending take about the same time, so a long file
 * is done in little more than half of it, and of many files each is decoded while the one before it is committed. One
 * thread serves a whole ingest: starting it and compiling its code takes as long as decoding 100,000 entries.
 */
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { ColumnBatch } from '../model/columns.js';
import { MbfError } from '../model/errors.js';
import type { ParseContext } from '../model/parser.js';
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
import type { DerivedSink, DerivedSnapshotSink } from './derive/derive-snapshot.js';

/** On disk. Below this a file is decoded before the thread has started. */
export const THREAD_FROM_BYTES = 1024 * 1024;

const THREAD = new URL('./decode-thread.js', import.meta.url);

/** Whether decoding there pays. TypeScript sources, as under test, cannot start a thread of their own kind. */
export function decodesInThread(sizeBytes: number): boolean {
  return sizeBytes >= THREAD_FROM_BYTES && availableParallelism() > 1 && !import.meta.url.endsWith('.ts');
}

/** A file that is decoded or waits to be, up to a few batches ahead of the consumer of its rows. */
export interface Decoding {
  /**
   * As `decodeSource` in this thread: the same calls to `sink` in the same order, the same errors. To be called once,
   * and in the order of {@link DecodeThread.start}.
   */
  run(sink: DerivedSink, context: Pick<ParseContext, 'progress'>): Promise<DecodedSource>;
}

/** Starts with the first file it is given. Close it whatever happens, or the process does not end. */
export class DecodeThread {
  private link: ThreadLink | undefined;

  start(job: DecoderJob): Decoding {
    this.link ??= new ThreadLink();
    const { link } = this;
    link.post(job);
    return { run: (sink, context) => receive(link, sink, context) };
  }

  async close(): Promise<void> {
    await this.link?.close();
    this.link = undefined;
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

/** The running thread and the messages that came from it. */
class ThreadLink {
  private readonly worker: Worker;
  private readonly taken = new Int32Array(new SharedArrayBuffer(8));
  private readonly buffers: MessagePort;
  private readonly queue: FromDecoder[] = [];
  private failure: Error | undefined;
  private wake: (() => void) | undefined;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.buffers = port1;
    const workerData: DecoderLink = { taken: this.taken.buffer as SharedArrayBuffer, buffers: port2 };
    this.worker = new Worker(THREAD, { workerData, transferList: [port2] });
    this.worker.on('message', (message: FromDecoder) => {
      this.queue.push(message);
      this.ring();
    });
    this.worker.on('error', (error: Error) => {
      this.failure ??= error;
      this.ring();
    });
    this.worker.on('exit', () => {
      this.failure ??= new Error('the decoding thread ended without a word');
      this.ring();
    });
  }

  post(job: DecoderJob): void {
    this.worker.postMessage(job);
  }

  /** The next message. An uncaught error of the thread, or its end, is thrown after the messages before it. */
  async next(): Promise<FromDecoder> {
    for (;;) {
      const message = this.queue.shift();
      if (message !== undefined) {
        this.count(TAKEN.messages);
        return message;
      }
      if (this.failure !== undefined) throw this.failure;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  giveBack(buffer: ArrayBuffer): void {
    if (buffer.byteLength < BUFFER_BYTES) return; // a small batch's own
    this.buffers.postMessage(buffer, [buffer]);
    this.count(TAKEN.buffers);
  }

  /** Discards the remaining batches of a file whose rows are not needed: those of the next file follow them. */
  async skipFile(): Promise<void> {
    for (;;) {
      const message = await this.next().catch(() => undefined); // the next caller gets the error of a dead thread
      if (message === undefined || message.type === 'done' || message.type === 'failed' || message.type === 'bug')
        return;
      if (message.type === 'rows') this.giveBack(message.buffer);
    }
  }

  async close(): Promise<void> {
    await this.worker.terminate();
    this.buffers.close();
  }

  private count(what: number): void {
    Atomics.add(this.taken, what, 1);
    Atomics.notify(this.taken, what);
  }

  private ring(): void {
    this.wake?.();
    this.wake = undefined;
  }
}
