/**
 * Bytes of one file: read ahead of the consumer, inflated if they are gzip or zstd, hashed on the way, and watched for
 * change.
 *
 * Two layers. `raw-file.ts` reads what is on disk; on top, either those chunks themselves or what
 * `compression/gunzip-chunks.ts` or `compression/zstd-chunks.ts` makes of them.
 */
import type { ByteSource } from '../../model/parser.js';
import type { Note } from '../../model/tables.js';
import { GIB, KIB, MIB } from '../../model/units.js';
import { gunzipChunks } from './compression/gunzip-chunks.js';
import type { Chunks } from './compression/inflation.js';
import { zstdChunks } from './compression/zstd-chunks.js';
import { isZstd } from './compression/zstd-frames.js';
import type { FileDigest } from './file-digest.js';
import { type OpenedRandomAccess, openRandomAccess, unpackForRandomAccess } from './random-access.js';
import { openRawFile, type RawFile } from './raw-file.js';

export interface ByteSourceOptions {
  /** Size of one read. Small values are for tests that put chunk boundaries everywhere. Default 4 MiB. */
  readonly chunkBytes?: number;
  /** A compressed stream may inflate to this much. Default 64 GiB, far above any snapshot or log worth ingesting. */
  readonly maxInflatedBytes?: number;
  /**
   * Below this a compressed stream may inflate at any ratio. DEFLATE itself cannot exceed 1032:1 (zstd: 32,768:1), and
   * a log that repeats one line comes close, so the ratio of a small output is meaningless. Default 1 GiB.
   */
  readonly ratioFloorBytes?: number;
  /**
   * Above the floor, more output per input byte than this is a bomb. Real logs reach 10 to 40, pickles 5 to 30. Default
   * 256.
   */
  readonly maxRatio?: number;
}

export type Compression = 'none' | 'gzip' | 'zstd';

/** An open file. Close it whatever happens; errors carry offsets but no file name. */
export interface OpenedSource {
  readonly source: ByteSource;
  readonly compression: Compression;
  /** Size on disk when opened. */
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  /**
   * Up to the first 64 KiB of the (inflated) stream, or `bytes`; reading still starts at the first byte. Of a damaged
   * compressed file it gives what came out before the damage, which `read` then reports; it throws only if nothing came
   * out. Not to be asked for more once reading began.
   */
  head(bytes?: number): Promise<Uint8Array>;
  /**
   * Reads what the digest of the bytes on disk needs of what the parser left unread, and makes sure that the file is
   * still the one that was opened. Nothing can be read afterwards.
   *
   * @throws {MbfError} MBF2009 if size or modification time changed since opening, MBF2007 on I/O errors.
   */
  finish(): Promise<FileDigest>;
  /** What the reader of the rows should know of the bytes read so far. */
  notes(): Note[];
  close(): Promise<void>;
}

export const HEAD_BYTES = 64 * KIB;
const DEFAULT_CHUNK_BYTES = 2 * MIB;

const DEFAULTS: Required<ByteSourceOptions> = {
  chunkBytes: DEFAULT_CHUNK_BYTES,
  maxInflatedBytes: 64 * GIB,
  ratioFloorBytes: GIB,
  maxRatio: 256,
};

/**
 * @throws {MbfError} MBF2007 if the file cannot be opened or read, or is not a regular file (never waits on a pipe).
 */
export async function openByteSource(path: string, options: ByteSourceOptions = {}): Promise<OpenedSource> {
  const limits = { ...DEFAULTS, ...options };
  const raw = await openRawFile(path, limits.chunkBytes);
  try {
    const first = await raw.next();
    if (first !== undefined && isGzip(first)) return assemble(path, raw, gunzipChunks(raw, first, limits), 'gzip');
    if (first !== undefined && isZstd(first)) return assemble(path, raw, await zstdChunks(raw, first, limits), 'zstd');
    return assemble(path, raw, plainChunks(raw, first), 'none');
  } catch (error) {
    await raw.close();
    throw error;
  }
}

function isGzip(first: Uint8Array): boolean {
  return first.length > 2 && first[0] === 0x1f && first[1] === 0x8b && first[2] === 8;
}

/**
 * The digest of a file's bytes on disk.
 *
 * @throws {MbfError} as {@link openByteSource} and {@link OpenedSource.finish}.
 */
export async function hashFile(path: string, options: Pick<ByteSourceOptions, 'chunkBytes'> = {}): Promise<FileDigest> {
  const raw = await openRawFile(path, options.chunkBytes ?? DEFAULT_CHUNK_BYTES);
  try {
    return await raw.finish();
  } finally {
    await raw.close();
  }
}

function assemble(path: string, raw: RawFile, chunks: Chunks, compression: Compression): OpenedSource {
  /** Fetched from `chunks` and not yet handed to the reader. */
  let current: Uint8Array = new Uint8Array(0);
  let head: Uint8Array = current;
  /** Asked for so far. */
  let headBytes = 0;
  /** An error met while peeking, owed to the reader once it has had the bytes before it. */
  let owed: unknown;
  let digest: FileDigest | undefined;
  let isDone = false;
  let random: OpenedRandomAccess | undefined;

  async function randomAccess(): Promise<OpenedRandomAccess> {
    if (random !== undefined) return random;
    if (compression === 'none') {
      random = openRandomAccess(path);
      return random;
    }
    const again = await openByteSource(path);
    try {
      random = await unpackForRandomAccess(again.source, path);
    } finally {
      await again.close();
    }
    return random;
  }

  /** Fetches until `current` has so many bytes. */
  async function fill(bytes: number): Promise<void> {
    let piece = await chunks.next();
    if (piece === undefined) return;
    if (current.length === 0 && piece.length >= bytes) {
      current = piece;
      return;
    }
    const pieces = [current];
    let length = current.length;
    while (piece !== undefined) {
      pieces.push(new Uint8Array(piece)); // a copy: the next call reuses the memory of this piece
      length += piece.length;
      if (length >= bytes) break;
      try {
        piece = await chunks.next();
      } catch (error) {
        owed = error;
        break;
      }
    }
    current = Buffer.concat(pieces, length);
  }

  async function loadHead(bytes: number): Promise<Uint8Array> {
    try {
      if (current.length < bytes && owed === undefined) await fill(bytes);
    } catch (error) {
      if (headBytes === 0) throw error;
      owed = error;
    }
    headBytes = bytes;
    return new Uint8Array(current.subarray(0, bytes)); // not slice(): pieces are Buffers, whose slice is a view
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
    source: { sizeBytes: compression === 'none' ? raw.sizeBytes : undefined, read, randomAccess },
    compression,
    sizeBytes: raw.sizeBytes,
    mtimeMs: raw.mtimeMs,
    async head(bytes = HEAD_BYTES) {
      if (bytes > headBytes) head = await loadHead(bytes);
      return bytes < head.length ? head.subarray(0, bytes) : head;
    },
    async finish() {
      if (digest === undefined) {
        isDone = true;
        await chunks.stop();
        random?.check();
        digest = await raw.finish();
      }
      return digest;
    },
    notes: () => chunks.notes?.() ?? [],
    async close() {
      isDone = true;
      random?.close();
      await chunks.stop();
      await raw.close();
    },
  };
}

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
