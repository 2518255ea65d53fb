/**
 * The decoding thread: parses files in the order they are asked for and sends their rows. Started by
 * `decode-in-thread.ts`, never imported.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { PARSERS } from '../../../parsers/index.js';
import { MbfError } from '../../model/errors.js';
import { openByteSource } from './byte-source.js';
import {
  BUFFER_BYTES,
  type DecoderJob,
  type DecoderLink,
  type FromDecoder,
  MAX_BUFFERS,
  MAX_MESSAGES,
  SMALL_BATCH_BYTES,
  TAKEN,
} from './decode-protocol.js';
import { decodeSource } from './decode-source.js';
import { failed, sendingSink } from './sending-sink.js';

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

/** A small batch travels in memory of its own. */
const memoryFor = (bytes: number): ArrayBuffer => (bytes <= SMALL_BATCH_BYTES ? new ArrayBuffer(bytes) : takeBuffer());
const sink = sendingSink(send, memoryFor);

async function decode(job: DecoderJob): Promise<void> {
  const parser = PARSERS.find((candidate) => candidate.id === job.parser);
  if (parser === undefined) throw new Error(`no parser ${job.parser}`);
  const opened = await openByteSource(job.path);
  try {
    if (opened.sizeBytes !== job.sizeBytes || opened.mtimeMs !== job.mtimeMs) {
      throw new MbfError('MBF2009', 'changed while it was read: it is not the file it was a moment ago');
    }
    const progress = (bytes: number): void => send({ type: 'progress', bytes });
    const { name, allTables, formats, run } = job;
    const decoded = await decodeSource(parser, opened, sink, { name, progress, allTables, formats, run });
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
      if (error instanceof MbfError) send(failed(error));
      else send({ type: 'bug', message: String(error), stack: error instanceof Error ? (error.stack ?? '') : '' });
    });
});
