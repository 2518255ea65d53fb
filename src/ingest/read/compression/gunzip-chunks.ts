import { createGunzip, type Gunzip } from 'node:zlib';
import { MbfError } from '../../../model/errors.js';
import { KIB, MIB } from '../../../model/units.js';
import type { RawFile } from '../raw-file.js';
import { type Chunks, type InflationLimits, inflationFault } from './inflation.js';

/** Inflating multiplies: smaller input chunks and output pieces keep a gzip source within a few MiB. */
const INPUT_BYTES = MIB;
const OUTPUT_BYTES = 512 * KIB;
/** Inflated bytes waiting for the consumer before gunzip is paused. */
const QUEUE_BYTES = 4 * MIB;

/**
 * Inflates on zlib's own thread. Members concatenated (`cat a.gz b.gz`, bgzip, pigz) come out as one stream; zeros
 * after the last member are padding and ignored, as gzip(1) does.
 *
 * The pieces are taken by a `data` listener and not by async iteration: when the stream fails, an iterator loses what
 * it had not yet handed out, and of a log cut in the middle that is all we have to recognise it by.
 */
export function gunzipChunks(raw: RawFile, first: Uint8Array, limits: InflationLimits): Chunks {
  const gunzip: Gunzip = createGunzip({ chunkSize: OUTPUT_BYTES });
  const queue: Uint8Array[] = [];
  let queuedBytes = 0;
  let inflatedBytes = 0;
  let failure: unknown;
  let isOver = false;
  let wake: (() => void) | undefined;

  function signal(): void {
    wake?.();
    wake = undefined;
  }

  function fail(error: unknown): void {
    failure ??= error;
    isOver = true;
    gunzip.destroy();
    signal();
  }

  gunzip.on('data', (piece: Uint8Array) => {
    inflatedBytes += piece.length;
    queue.push(piece);
    queuedBytes += piece.length;
    const bomb = inflationFault('gzip', inflatedBytes, raw.readBytes(), limits);
    if (bomb !== undefined) fail(bomb);
    else if (queuedBytes >= QUEUE_BYTES) gunzip.pause();
    signal();
  });
  gunzip.on('end', () => {
    isOver = true;
    signal();
  });
  gunzip.on('error', (error) => fail(damaged(error, inflatedBytes, raw)));
  gunzip.on('close', () => {
    isOver = true;
    signal();
  });

  /**
   * Resolves when zlib is done with the piece, so that its buffer may be filled again, or when the stream has closed.
   */
  function feed(piece: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        gunzip.off('close', done);
        resolve();
      };
      gunzip.once('close', done);
      gunzip.write(piece, done);
    });
  }

  async function pump(): Promise<void> {
    try {
      let chunk: Uint8Array | undefined = first;
      while (chunk !== undefined && !isOver) {
        for (let at = 0; at < chunk.length && !isOver; at += INPUT_BYTES) {
          await feed(chunk.subarray(at, at + INPUT_BYTES));
        }
        if (!isOver) chunk = await raw.next();
      }
      if (!isOver) gunzip.end();
    } catch (error) {
      fail(error);
    }
  }
  const pumping = pump();

  return {
    async next() {
      while (queue.length === 0 && !isOver) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const piece = queue.shift();
      if (piece === undefined) {
        if (failure !== undefined) throw failure;
        return undefined;
      }
      queuedBytes -= piece.length;
      if (gunzip.isPaused() && queuedBytes < QUEUE_BYTES / 2) gunzip.resume();
      return piece;
    },
    async stop() {
      isOver = true;
      queue.length = 0;
      gunzip.destroy();
      signal();
      await pumping;
    },
  };
}

/** zlib returns Z_BUF_ERROR when the input ends inside a member, Z_DATA_ERROR for bad codes, headers and check sums. */
function damaged(error: Error, inflatedBytes: number, raw: RawFile): MbfError {
  const isCut = 'code' in error && error.code === 'Z_BUF_ERROR';
  const fact = isCut
    ? `the gzip file ends in the middle, after ${raw.sizeBytes} compressed bytes`
    : `the gzip data is damaged within its first ${raw.readBytes()} bytes (${error.message})`;
  return new MbfError('MBF2006', fact, { offset: inflatedBytes }, error);
}
