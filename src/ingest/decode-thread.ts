/**
 * The decoding thread: parses files in the order they are asked for and sends their rows. Started by
 * `decode-in-thread.ts`, never imported.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { PARSERS } from '../../parsers/index.js';
import { batchBytes, ColumnBatch } from '../model/columns.js';
import { MbfError } from '../model/errors.js';
import { NSYS_LAYOUTS } from '../model/nsys-rows.js';
import type { Dictionary } from '../model/parser.js';
import { openByteSource } from './byte-source.js';
import type { StackKeys } from './content-keys.js';
import {
  BUFFER_BYTES,
  type DecoderJob,
  type DecoderLink,
  DictionaryCursor,
  type FromDecoder,
  MAX_BUFFERS,
  MAX_MESSAGES,
  type RowKind,
  SMALL_BATCH_BYTES,
  TAKEN,
  TRAVELLING,
} from './decode-protocol.js';
import { decodeSource } from './decode-source.js';
import type { DerivedSink, DerivedSnapshotSink } from './derive/derive-snapshot.js';
import { TEXT_LAYOUTS } from './derive/derive-text.js';

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

function snapshotSink(dictionary: Dictionary, keys: StackKeys): DerivedSnapshotSink {
  const cursor = new DictionaryCursor(dictionary, keys);
  const sendRows =
    (kind: RowKind) =>
    (batch: ColumnBatch): void => {
      const bytes = batchBytes(TRAVELLING[kind], batch.rows);
      const buffer = bytes <= SMALL_BATCH_BYTES ? new ArrayBuffer(bytes) : takeBuffer();
      new ColumnBatch(TRAVELLING[kind], batch.rows, buffer).copyFrom(batch);
      send({ type: 'rows', kind, rows: batch.rows, buffer, dictionary: cursor.take() }, [buffer]);
    };
  return {
    events: sendRows('events'),
    segments: sendRows('segments'),
    blocks: sendRows('blocks'),
    annotations: sendRows('annotations'),
    blockLives: sendRows('blockLives'),
    segmentLives: sendRows('segmentLives'),
    buckets: sendRows('buckets'),
    parsed: () => send({ type: 'parsed' }),
    oom: (row) => send({ type: 'oom', row }),
    eventExtra: (row) => send({ type: 'extra', row }),
    end: (summary, derivation) => send({ type: 'snapshot_end', summary, derivation, dictionary: cursor.take() }),
  };
}

const sink: DerivedSink = {
  note: (note) => send({ type: 'note', note }),
  incident: (row) => send({ type: 'incident', row }),
  textRows: (kind, batch, newTexts) => {
    const layout = TEXT_LAYOUTS[kind];
    const bytes = batchBytes(layout, batch.rows);
    const buffer = bytes <= SMALL_BATCH_BYTES ? new ArrayBuffer(bytes) : takeBuffer();
    new ColumnBatch(layout, batch.rows, buffer).copyFrom(batch);
    send({ type: 'text_rows', kind, rows: batch.rows, buffer, newTexts }, [buffer]);
  },
  textRow: (finding, place) => send({ type: 'text_row', finding, place }),
  nsys: {
    rows: (kind, batch) => {
      const layout = NSYS_LAYOUTS[kind];
      const bytes = batchBytes(layout, batch.rows);
      const buffer = bytes <= SMALL_BATCH_BYTES ? new ArrayBuffer(bytes) : takeBuffer();
      new ColumnBatch(layout, batch.rows, buffer).copyFrom(batch);
      send({ type: 'nsys_rows', kind, rows: batch.rows, buffer }, [buffer]);
    },
    texts: (texts) => send({ type: 'nsys_texts', texts }, [texts.ids.buffer, texts.ends.buffer, texts.bytes.buffer]),
    fact: (fact) => send({ type: 'nsys_fact', fact }),
    rawTable: async (table, columns) => send({ type: 'raw_table', table, columns }),
    raw: (rows) => send({ type: 'raw_rows', rows }),
  },
  attempt: (row) => send({ type: 'attempt', row }),
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
