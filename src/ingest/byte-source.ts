/**
 * Bytes of one file: read ahead of the consumer, inflated if they are gzip, hashed on the way, and watched for change.
 *
 * Two layers. {@link RawFile} reads what is on disk, with the next read in flight while the caller works on the current
 * chunk, so that a cold disk and a decoder overlap; every raw byte passes the hash exactly once. On top, either those
 * chunks themselves or what gunzip makes of them.
 */
import { createHash, type Hash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { createGunzip, type Gunzip } from 'node:zlib';
import { MbfError } from '../model/errors.js';
import type { ByteSource } from '../model/parser.js';
import { formatBytes, GIB, KIB, MIB } from '../model/units.js';
import { type BackgroundHash, hashInBackground } from './background-hash.js';

export interface ByteSourceOptions {
  /** Size of one read. Small values are for tests that put chunk boundaries everywhere. Default 4 MiB. */
  readonly chunkBytes?: number;
  /** A gzip stream may inflate to this much. Default 64 GiB, far above any snapshot or log worth ingesting. */
  readonly maxInflatedBytes?: number;
  /**
   * Below this a gzip stream may inflate at any ratio. DEFLATE itself cannot exceed 1032:1, and a log that repeats one
   * line comes close, so a ratio says nothing about a small output. Default 1 GiB.
   */
  readonly ratioFloorBytes?: number;
  /** Above the floor, more output per input byte than this is a bomb. Real logs reach 10 to 40, pickles 5 to 30. Default 256. */
  readonly maxRatio?: number;
}

/** An open file. Close it whatever happens; errors carry offsets but no file name. */
export interface OpenedSource {
  readonly source: ByteSource;
  readonly compression: 'none' | 'gzip';
  /** Size on disk when opened. */
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  /**
   * Up to the first 64 KiB of the (inflated) stream; reading still starts at the first byte. Of a damaged gzip file it
   * gives what came out before the damage, which `read` then reports; it throws only if nothing came out.
   */
  head(): Promise<Uint8Array>;
  /**
   * Reads and hashes what the parser left unread (without inflating it), and makes sure that the file is still the one
   * that was opened. Nothing can be read afterwards.
   *
   * @returns the sha256 of the bytes on disk, lower-case hex.
   * @throws {MbfError} MBF2009 if size or modification time changed since opening, MBF2007 on I/O errors.
   */
  finish(): Promise<string>;
  /** The result of {@link finish}. Throws a plain Error before it: half a hash must not identify a file. */
  sha256(): string;
  close(): Promise<void>;
}

export const HEAD_BYTES = 64 * KIB;
/** The first read serves detection, and most files of a run directory are not ours: do not fetch megabytes of each. */
const FIRST_READ_BYTES = 256 * KIB;
const DEFAULT_CHUNK_BYTES = 4 * MIB;
/** Inflating multiplies: smaller input chunks and output pieces keep a gzip source within a few MiB. */
const GZIP_CHUNK_BYTES = MIB;
const GZIP_OUTPUT_BYTES = 512 * KIB;
/** From here on a second core hashes the file; starting a thread takes longer than hashing less. */
const BACKGROUND_HASH_BYTES = 64 * MIB;
/** Inflated bytes waiting for the consumer before gunzip is paused. */
const GZIP_QUEUE_BYTES = 4 * MIB;

const DEFAULTS: Required<ByteSourceOptions> = {
  chunkBytes: DEFAULT_CHUNK_BYTES,
  maxInflatedBytes: 64 * GIB,
  ratioFloorBytes: GIB,
  maxRatio: 256,
};

/** Hands out pieces in order; a piece stays valid until the next call. Undefined at the end. */
interface Chunks {
  next(): Promise<Uint8Array | undefined>;
  /** Ends reading early; returns once nothing touches the file any more. */
  stop(): Promise<void>;
}

/**
 * @throws {MbfError} MBF2007 if the file cannot be opened or read, or is no regular file (never waits on a pipe).
 */
export async function openByteSource(path: string, options: ByteSourceOptions = {}): Promise<OpenedSource> {
  const limits = { ...DEFAULTS, ...options };
  const raw = await openRawFile(path, limits.chunkBytes);
  try {
    const first = await raw.next();
    const isGzip = first !== undefined && first.length > 2 && first[0] === 0x1f && first[1] === 0x8b && first[2] === 8;
    const chunks = isGzip ? gunzipChunks(raw, first, limits) : plainChunks(raw, first);
    return assemble(raw, chunks, isGzip);
  } catch (error) {
    await raw.close();
    throw error;
  }
}

/**
 * The sha256 of a file's bytes on disk, lower-case hex, reading it once.
 *
 * @throws {MbfError} as {@link openByteSource} and {@link OpenedSource.finish}.
 */
export async function hashFile(path: string, options: Pick<ByteSourceOptions, 'chunkBytes'> = {}): Promise<string> {
  const raw = await openRawFile(path, options.chunkBytes ?? DEFAULT_CHUNK_BYTES);
  try {
    return await raw.finish();
  } finally {
    await raw.close();
  }
}

function assemble(raw: RawFile, chunks: Chunks, isGzip: boolean): OpenedSource {
  /** Fetched from `chunks` and not yet handed to the reader. */
  let current: Uint8Array = new Uint8Array(0);
  let head: Uint8Array | undefined;
  /** An error met while peeking, owed to the reader once it has had the bytes before it. */
  let owed: unknown;
  let digest: string | undefined;
  let isDone = false;

  async function loadHead(): Promise<Uint8Array> {
    let joined = (await chunks.next()) ?? new Uint8Array(0);
    while (joined.length > 0 && joined.length < HEAD_BYTES) {
      const kept = new Uint8Array(joined); // a copy: the next call reuses the memory of this piece
      joined = kept;
      try {
        const more = await chunks.next();
        if (more === undefined) break;
        joined = new Uint8Array(kept.length + more.length);
        joined.set(kept);
        joined.set(more, kept.length);
      } catch (error) {
        owed = error;
        break;
      }
    }
    current = joined;
    return new Uint8Array(joined.subarray(0, HEAD_BYTES)); // not slice(): pieces are Buffers, whose slice is a view
  }

  async function read(target: Uint8Array, start: number): Promise<number> {
    if (isDone) throw new Error('read after finish or close');
    if (start >= target.length) throw new RangeError(`no room at ${start} of ${target.length}`);
    if (current.length === 0) {
      if (owed !== undefined) throw owed;
      current = (await chunks.next()) ?? current;
    }
    const piece = current.subarray(0, target.length - start);
    target.set(piece, start);
    current = current.subarray(piece.length);
    return piece.length;
  }

  return {
    source: { sizeBytes: isGzip ? undefined : raw.sizeBytes, read },
    compression: isGzip ? 'gzip' : 'none',
    sizeBytes: raw.sizeBytes,
    mtimeMs: raw.mtimeMs,
    async head() {
      head ??= await loadHead();
      return head;
    },
    async finish() {
      if (digest === undefined) {
        isDone = true;
        await chunks.stop();
        digest = await raw.finish();
      }
      return digest;
    },
    sha256() {
      if (digest === undefined) throw new Error('sha256 before finish');
      return digest;
    },
    async close() {
      isDone = true;
      await chunks.stop();
      await raw.close();
    },
  };
}

// ---- raw bytes ---------------------------------------------------------------------------------------------------

interface RawFile {
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  /** Bytes handed out so far. */
  readonly readBytes: () => number;
  /** The next piece, already hashed; valid until the next call. */
  next(): Promise<Uint8Array | undefined>;
  /** See {@link OpenedSource.finish}. */
  finish(): Promise<string>;
  close(): Promise<void>;
}

async function openRawFile(path: string, chunkBytes: number): Promise<RawFile> {
  let handle: FileHandle | undefined;
  try {
    // O_NONBLOCK: if a pipe took the file's place since it was found, opening it must not wait for a writer.
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) throw new MbfError('MBF2007', 'is not a regular file');
    return rawFile(handle, stats, chunkBytes);
  } catch (error) {
    await handle?.close();
    throw asReadError(error, undefined);
  }
}

function rawFile(handle: FileHandle, opened: BigIntStats, chunkBytes: number): RawFile {
  const sizeBytes = Number(opened.size);
  const hash: Hash = createHash('sha256');
  /** Two buffers take turns: one with the caller, one being filled. Made when first needed, no larger than the file. */
  const buffers: (Uint8Array | undefined)[] = [undefined, undefined];
  let turn = 0;
  let requestedBytes = 0;
  let handedBytes = 0;
  let inFlight: Promise<Uint8Array> | undefined;
  let isClosed = false;
  let background: BackgroundHash | undefined;

  /** Fills one buffer completely, or up to the size at opening: what a live writer appends later is not this file. */
  async function fill(wantedBytes: number): Promise<Uint8Array> {
    const position = requestedBytes;
    const length = Math.min(wantedBytes, sizeBytes - position);
    requestedBytes += length;
    turn ^= 1;
    let buffer = buffers[turn];
    if (buffer === undefined || buffer.length < length) {
      buffer = Buffer.allocUnsafeSlow(length);
      buffers[turn] = buffer;
    }
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) throw changed(`it now ends at byte ${position + filled}, before its ${sizeBytes} bytes`);
      filled += bytesRead;
    }
    return buffer.subarray(0, length);
  }

  function start(wantedBytes: number): Promise<Uint8Array> {
    const filling = fill(wantedBytes);
    filling.catch(() => {}); // reported by the call that waits for it, which may never come
    return filling;
  }

  async function next(): Promise<Uint8Array | undefined> {
    if (handedBytes === sizeBytes) return undefined;
    try {
      const isFirst = inFlight === undefined;
      inFlight ??= start(handedBytes === 0 ? Math.min(FIRST_READ_BYTES, chunkBytes) : chunkBytes);
      const chunk = await inFlight;
      inFlight = undefined;
      // Nothing is read ahead of the first piece: detection may want no more than that.
      if (!(isFirst && handedBytes === 0) && requestedBytes < sizeBytes) inFlight = start(chunkBytes);
      // The first piece serves detection; whoever reads on wants the whole file.
      if (
        handedBytes > 0 &&
        background === undefined &&
        sizeBytes >= BACKGROUND_HASH_BYTES &&
        availableParallelism() > 1
      ) {
        background = hashInBackground(handle.fd, sizeBytes);
      }
      if (background === undefined) hash.update(chunk);
      handedBytes += chunk.length;
      return chunk;
    } catch (error) {
      throw asReadError(error, handedBytes);
    }
  }

  return {
    sizeBytes,
    mtimeMs: Number(opened.mtimeNs) / 1e6,
    readBytes: () => handedBytes,
    next,
    async finish() {
      if (background === undefined) while ((await next()) !== undefined);
      let digest: string | undefined;
      try {
        if (background !== undefined) {
          const hashed = await background.result;
          if (hashed.position !== sizeBytes)
            throw changed(`it now ends at byte ${hashed.position}, before its ${sizeBytes} bytes`);
          digest = hashed.digest;
        }
        const now = await handle.stat({ bigint: true });
        if (now.size !== opened.size) throw changed(`it had ${opened.size} bytes and now has ${now.size}`);
        if (now.mtimeNs !== opened.mtimeNs) throw changed('its modification time moved');
      } catch (error) {
        throw asReadError(error, undefined);
      }
      return digest ?? hash.digest('hex');
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await background?.stop();
      await inFlight?.catch(() => {}); // closing under a read in flight is undefined behaviour
      await handle.close();
    },
  };
}

function changed(fact: string): MbfError {
  return new MbfError('MBF2009', `changed while it was read: ${fact}`);
}

function asReadError(error: unknown, offset: number | undefined): MbfError {
  if (error instanceof MbfError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new MbfError('MBF2007', `cannot be read: ${code}`, offset === undefined ? {} : { offset }, error);
}

// ---- plain files -------------------------------------------------------------------------------------------------

function plainChunks(raw: RawFile, first: Uint8Array | undefined): Chunks {
  let pending = first;
  return {
    async next() {
      if (pending === undefined) return raw.next();
      const chunk = pending;
      pending = undefined;
      return chunk;
    },
    async stop() {},
  };
}

// ---- gzip --------------------------------------------------------------------------------------------------------

/**
 * Inflates on zlib's own thread. Members concatenated (`cat a.gz b.gz`, bgzip, pigz) come out as one stream; zeros after
 * the last member are padding and ignored, as gzip(1) does.
 *
 * The pieces are taken by a `data` listener and not by async iteration: when the stream fails, an iterator loses what
 * it had not yet handed out, and of a log cut in the middle that is all we have to recognise it by.
 */
function gunzipChunks(raw: RawFile, first: Uint8Array, limits: Required<ByteSourceOptions>): Chunks {
  const gunzip: Gunzip = createGunzip({ chunkSize: GZIP_OUTPUT_BYTES });
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
    const bomb = inflationFault(inflatedBytes, raw.readBytes(), limits);
    if (bomb !== undefined) fail(bomb);
    else if (queuedBytes >= GZIP_QUEUE_BYTES) gunzip.pause();
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

  /** Resolves when zlib is done with the piece, so that its buffer may be filled again, or when the stream has closed. */
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
        for (let at = 0; at < chunk.length && !isOver; at += GZIP_CHUNK_BYTES) {
          await feed(chunk.subarray(at, at + GZIP_CHUNK_BYTES));
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
      if (gunzip.isPaused() && queuedBytes < GZIP_QUEUE_BYTES / 2) gunzip.resume();
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

function inflationFault(
  inflatedBytes: number,
  compressedBytes: number,
  limits: Required<ByteSourceOptions>,
): MbfError | undefined {
  const from = `${formatBytes(compressedBytes)} of gzip inflated to ${formatBytes(inflatedBytes)} and more`;
  if (inflatedBytes > limits.maxInflatedBytes) {
    const limit = `the limit is ${formatBytes(limits.maxInflatedBytes)}`;
    return new MbfError('MBF2005', `${from}; ${limit}`, { offset: limits.maxInflatedBytes });
  }
  if (inflatedBytes > limits.ratioFloorBytes && inflatedBytes > limits.maxRatio * compressedBytes) {
    const limit = `above ${formatBytes(limits.ratioFloorBytes)} the limit is ${limits.maxRatio} to 1`;
    return new MbfError('MBF2005', `${from}; ${limit}`, { offset: inflatedBytes });
  }
  return undefined;
}

/** zlib says Z_BUF_ERROR when the input ends inside a member, Z_DATA_ERROR for bad codes, headers and check sums. */
function damaged(error: Error, inflatedBytes: number, raw: RawFile): MbfError {
  const isCut = 'code' in error && error.code === 'Z_BUF_ERROR';
  const fact = isCut
    ? `the gzip file ends in the middle, after ${raw.sizeBytes} compressed bytes`
    : `the gzip data is damaged within its first ${raw.readBytes()} bytes (${error.message})`;
  return new MbfError('MBF2006', fact, { offset: inflatedBytes }, error);
}
