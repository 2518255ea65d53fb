/**
 * The decoding thread: parses files in the order they are asked for and sends their rows. Started by
 * `decode-in-thread.ts`, never imported.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { PARSERS } from '../../../parsers/index.js';
import { batchBytes, ColumnBatch } from '../../model/columns.js';
import { MbfError } from '../../model/errors.js';
import type { Dictionary } from '../../model/parser.js';
import type { DerivedSink, DerivedSnapshotSink } from '../derive/derive-snapshot.js';
import { openByteSource } from './byte-source.js';
import type { StackKeys } from './content-keys.js';
import {
  BUFFER_BYTES,
  type DecoderJob,
  type DecoderLink,
  DictionaryCursor,
  type FromDecoder,
  layoutOf,
  MAX_BUFFERS,
  MAX_MESSAGES,
  type RowKind,
  type RowsOf,
  type Sinks,
  SMALL_BATCH_BYTES,
  TAKEN,
} from './decode-protocol.js';
import { decodeSource } from './decode-source.js';

const link = workerData as DecoderLink;
const port = parentPort!;
const taken = new Int32Array(link.taken);

/** Counts modulo 2^32, as the shared counter does. */
let sent = 0;

/** Waits while too many messages are under way. The parser is synchronous, so this blocks. */
function send(message: FromDecoder, transfer: ArrayBuffer[] = []): void {
  for (;;) {
    const seen = Atomics.load(taken, TAKEN.messages);
    if (((sent - seen) | 0) < MAX_MESSAGES) break;
    Atomics.wait(taken, TAKEN.messages, seen, 1000);
  }
  sent = (sent + 1) | 0;
  port.postMessage(message, transfer);
}

const free: ArrayBuffer[] = [];
let made = 0;

/** A free buffer; waits for the writer to return one if all are on their way. */
function takeBuffer(): ArrayBuffer {
  for (;;) {
    const seen = Atomics.load(taken, TAKEN.buffers);
    for (;;) {
      const returned = receiveMessageOnPort(link.buffers);
      if (returned === undefined) break;
      free.push(returned.message as ArrayBuffer);
    }
    const buffer = free.pop();
    if (buffer !== undefined) return buffer;
    if (made < MAX_BUFFERS) {
      made += 1;
      return new ArrayBuffer(BUFFER_BYTES);
    }
    Atomics.wait(taken, TAKEN.buffers, seen, 1000);
  }
}

function sendRows(of: RowsOf, batch: ColumnBatch): void {
  const layout = layoutOf(of);
  const bytes = batchBytes(layout, batch.rows);
  const buffer = bytes <= SMALL_BATCH_BYTES ? new ArrayBuffer(bytes) : takeBuffer();
  new ColumnBatch(layout, batch.rows, buffer).copyFrom(batch);
  send({ type: 'rows', rows: batch.rows, buffer, of }, [buffer]);
}

type ArgumentsOf<Method> = Method extends (...args: infer Arguments) => unknown ? Arguments : never;

/** A method of a sink of the other thread. */
function remote<Sink extends keyof Sinks, Method extends keyof Sinks[Sink] & string>(
  sink: Sink,
  method: Method,
): (...args: ArgumentsOf<Sinks[Sink][Method]>) => void {
  return (...args) => send({ type: 'call', sink, method, args });
}

function snapshotSink(dictionary: Dictionary, keys: StackKeys): DerivedSnapshotSink {
  const cursor = new DictionaryCursor(dictionary, keys);
  const rowsOf =
    (kind: RowKind) =>
    (batch: ColumnBatch): void =>
      sendRows({ sink: 'snapshot', kind, dictionary: cursor.take() }, batch);
  return {
    events: rowsOf('events'),
    segments: rowsOf('segments'),
    blocks: rowsOf('blocks'),
    annotations: rowsOf('annotations'),
    hostEvents: rowsOf('hostEvents'),
    hostSegments: rowsOf('hostSegments'),
    blockLives: rowsOf('blockLives'),
    segmentLives: rowsOf('segmentLives'),
    buckets: rowsOf('buckets'),
    parsed: remote('snapshot', 'parsed'),
    oom: remote('snapshot', 'oom'),
    eventExtra: remote('snapshot', 'eventExtra'),
    end: (summary, derivation) => send({ type: 'snapshot_end', summary, derivation, dictionary: cursor.take() }),
  };
}

const sink: DerivedSink = {
  note: remote('source', 'note'),
  incident: remote('source', 'incident'),
  textRows: (kind, batch, newTexts) => sendRows({ sink: 'source', kind, newTexts }, batch),
  textRow: remote('source', 'textRow'),
  nsys: {
    rows: (kind, batch) => sendRows({ sink: 'nsys', kind }, batch),
    texts: (texts) =>
      send({ type: 'call', sink: 'nsys', method: 'texts', args: [texts] }, [
        texts.ids.buffer,
        texts.ends.buffer,
        texts.bytes.buffer,
      ]),
    fact: remote('nsys', 'fact'),
    rawTable: async (table, columns) => remote('nsys', 'rawTable')(table, columns),
    raw: remote('nsys', 'raw'),
  },
  attempt: remote('source', 'attempt'),
  snapshot: async (dictionary, keys) => {
    send({ type: 'snapshot' });
    return snapshotSink(dictionary, keys);
  },
};

async function decode(job: DecoderJob): Promise<void> {
  const parser = PARSERS.find((candidate) => candidate.id === job.parser);
  if (parser === undefined) throw new Error(`no parser ${job.parser}`);
  const opened = await openByteSource(job.path);
  try {
    if (opened.sizeBytes !== job.sizeBytes || opened.mtimeMs !== job.mtimeMs) {
      throw new MbfError('MBF2009', 'changed while it was read: it is not the file it was a moment ago');
    }
    const progress = (bytes: number): void => send({ type: 'progress', bytes });
    const decoded = await decodeSource(parser, opened, sink, { name: job.name, progress, allTables: job.allTables });
    send({ type: 'done', ...decoded });
  } finally {
    await opened.close();
  }
}

let last: Promise<void> = Promise.resolve();
port.on('message', (job: DecoderJob) => {
  last = last
    .then(() => decode(job))
    .catch((error: unknown) => {
      if (error instanceof MbfError)
        send({ type: 'failed', code: error.code, fact: error.message, place: error.place });
      else send({ type: 'bug', message: String(error), stack: error instanceof Error ? (error.stack ?? '') : '' });
    });
});
