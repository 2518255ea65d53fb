/**
 * Decodes a file on a second core while this one writes: at 5M entries decoding and appending take about the same time, so a long file is
 * done in little more than half of it. A short one is not: a thread takes 50 ms to start and to warm up.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { ColumnBatch } from '../model/columns.js';
import { MbfError } from '../model/errors.js';
import type { ParseContext, ParseSummary, RowSink, SnapshotSink } from '../model/parser.js';
import { type DecoderJob, type FromDecoder, ReceivedDictionary, TRAVELLING } from './decode-protocol.js';

/** On disk. Below this one thread is as fast. */
export const THREAD_FROM_BYTES = 128 * 1024 * 1024;

const THREAD = new URL('./decode-thread.js', import.meta.url);

/** Whether decoding there pays. TypeScript sources, as under test, cannot start a thread of their own kind. */
export function decodesInThread(sizeBytes: number): boolean {
  return sizeBytes >= THREAD_FROM_BYTES && availableParallelism() > 1 && import.meta.url.endsWith('.js');
}

export interface DecodeRequest {
  readonly path: string;
  readonly parser: string;
  readonly sizeBytes: number;
  readonly mtimeMs: number;
}

/** As `parser.parse` and hashing in this thread: the same calls to `sink` in the same order, the same errors. */
export async function decodeInThread(
  request: DecodeRequest,
  sink: RowSink,
  context: ParseContext,
): Promise<{ readonly summary: ParseSummary; readonly sha256: string }> {
  const returned = new SharedArrayBuffer(4);
  const workerData: DecoderJob = { ...request, name: context.name, returned };
  const worker = new Worker(THREAD, { workerData });
  try {
    let snapshot: SnapshotSink | undefined;
    const dictionary = new ReceivedDictionary();
    for await (const message of messages(worker)) {
      switch (message.type) {
        case 'snapshot':
          snapshot = await sink.snapshot(dictionary);
          break;
        case 'rows': {
          dictionary.add(message.dictionary);
          const batch = new ColumnBatch(TRAVELLING[message.kind], message.rows, message.buffer);
          batch.rows = message.rows;
          snapshot?.[message.kind](batch);
          worker.postMessage(message.buffer, [message.buffer]);
          Atomics.add(new Int32Array(returned), 0, 1);
          Atomics.notify(new Int32Array(returned), 0);
          break;
        }
        case 'oom':
          snapshot?.oom(message.row);
          break;
        case 'extra':
          snapshot?.eventExtra(message.row);
          break;
        case 'snapshot_end':
          dictionary.add(message.dictionary);
          snapshot?.end(message.summary);
          break;
        case 'note':
          sink.note(message.note);
          break;
        case 'incident':
          sink.incident(message.row);
          break;
        case 'progress':
          context.progress?.(message.bytes);
          break;
        case 'done':
          return message;
        case 'failed':
          throw new MbfError(message.code, message.fact, message.place);
        case 'bug': {
          const bug = new Error(message.message);
          bug.stack = message.stack;
          throw bug;
        }
      }
    }
    throw new Error('the decoding thread ended without a word');
  } finally {
    await worker.terminate();
  }
}

/** Messages in order, until the thread ends. An uncaught error there is thrown here. */
async function* messages(worker: Worker): AsyncGenerator<FromDecoder, void, void> {
  const queue: FromDecoder[] = [];
  let failure: Error | undefined;
  let isOver = false;
  let wake: (() => void) | undefined;
  const ring = (): void => {
    wake?.();
    wake = undefined;
  };
  worker.on('message', (message: FromDecoder) => {
    queue.push(message);
    ring();
  });
  worker.on('error', (error: Error) => {
    failure = error;
    ring();
  });
  worker.on('exit', () => {
    isOver = true;
    ring();
  });
  for (;;) {
    const message = queue.shift();
    if (message !== undefined) yield message;
    else if (failure !== undefined) throw failure;
    else if (isOver) return;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}
