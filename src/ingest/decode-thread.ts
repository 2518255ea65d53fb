/** The decoding thread: parses one file and sends its rows. Started by `decode-in-thread.ts`, never imported. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { PARSERS } from '../../parsers/index.js';
import { ColumnBatch } from '../model/columns.js';
import { MbfError } from '../model/errors.js';
import type { Dictionary, RowSink, SnapshotSink } from '../model/parser.js';
import { openByteSource } from './byte-source.js';
import {
  BUFFER_BYTES,
  type DecoderJob,
  DictionaryCursor,
  type FromDecoder,
  MAX_BUFFERS,
  type RowKind,
  TRAVELLING,
} from './decode-protocol.js';

const job = workerData as DecoderJob;
const port = parentPort!;
const returned = new Int32Array(job.returned);

function send(message: FromDecoder, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

const free: ArrayBuffer[] = [];
let made = 0;

/** A buffer nobody reads; waits for the writer to give one back if all are on their way. The parser is synchronous, so this blocks. */
function takeBuffer(): ArrayBuffer {
  for (;;) {
    const seen = Atomics.load(returned, 0);
    for (let message = receiveMessageOnPort(port); message !== undefined; message = receiveMessageOnPort(port)) {
      free.push(message.message as ArrayBuffer);
    }
    const buffer = free.pop();
    if (buffer !== undefined) return buffer;
    if (made < MAX_BUFFERS) {
      made += 1;
      return new ArrayBuffer(BUFFER_BYTES);
    }
    Atomics.wait(returned, 0, seen, 1000);
  }
}

function snapshotSink(dictionary: Dictionary): SnapshotSink {
  const cursor = new DictionaryCursor(dictionary);
  const sendRows =
    (kind: RowKind) =>
    (batch: ColumnBatch): void => {
      const buffer = takeBuffer();
      new ColumnBatch(TRAVELLING[kind], batch.rows, buffer).copyFrom(batch);
      send({ type: 'rows', kind, rows: batch.rows, buffer, dictionary: cursor.take() }, [buffer]);
    };
  return {
    events: sendRows('events'),
    segments: sendRows('segments'),
    blocks: sendRows('blocks'),
    annotations: sendRows('annotations'),
    oom: (row) => send({ type: 'oom', row }),
    eventExtra: (row) => send({ type: 'extra', row }),
    end: (summary) => send({ type: 'snapshot_end', summary, dictionary: cursor.take() }),
  };
}

const sink: RowSink = {
  note: (note) => send({ type: 'note', note }),
  incident: (row) => send({ type: 'incident', row }),
  snapshot: async (dictionary) => {
    send({ type: 'snapshot' });
    return snapshotSink(dictionary);
  },
};

async function decode(): Promise<void> {
  const parser = PARSERS.find((candidate) => candidate.id === job.parser);
  if (parser === undefined) throw new Error(`no parser ${job.parser}`);
  const opened = await openByteSource(job.path);
  try {
    if (opened.sizeBytes !== job.sizeBytes || opened.mtimeMs !== job.mtimeMs) {
      throw new MbfError('MBF2009', 'changed while it was read: it is not the file it was a moment ago');
    }
    const summary = await parser.parse(opened.source, sink, {
      name: job.name,
      progress: (bytes) => send({ type: 'progress', bytes }),
    });
    send({ type: 'done', summary, sha256: await opened.finish() });
  } finally {
    await opened.close();
  }
}

decode().catch((error: unknown) => {
  if (error instanceof MbfError) send({ type: 'failed', code: error.code, fact: error.message, place: error.place });
  else send({ type: 'bug', message: String(error), stack: error instanceof Error ? (error.stack ?? '') : '' });
});
