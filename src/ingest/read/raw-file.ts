/**
 * What is on disk: read ahead of the caller, with the next read in flight while the caller works on the current piece,
 * so that a cold disk and a decoder overlap; of a small file every byte passes the hash exactly once; and watched for
 * change.
 */
import { createHash, type Hash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { MbfError } from '../../model/errors.js';
import { KIB } from '../../model/units.js';
import { type FileDigest, sampleDigest, WHOLE_BYTES, wholeDigest } from './file-digest.js';
import { readBuffer } from './read-buffer.js';

/** The first read serves detection, and most files of a run directory are not ours: do not fetch megabytes of each. */
const FIRST_READ_BYTES = 256 * KIB;

/** Buffers of small files that were closed, for the next ones. */
const SPARE: Uint8Array[] = [];
const MOST_SPARE = 4;

export interface RawFile {
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  /** Bytes handed out so far. */
  readonly readBytes: () => number;
  /** The next piece; valid until the next call. */
  next(): Promise<Uint8Array | undefined>;
  /** Reads what the digest needs; see `OpenedSource.finish` of `byte-source.ts`. */
  finish(): Promise<FileDigest>;
  close(): Promise<void>;
}

/** @throws {MbfError} MBF2007 if the file cannot be opened, or is not a regular file (never waits on a pipe). */
export async function openRawFile(path: string, chunkBytes: number): Promise<RawFile> {
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
  const hash: Hash | undefined = sizeBytes <= WHOLE_BYTES ? createHash('sha256') : undefined;
  /** Two buffers take turns: one with the caller, one being filled. Made when first needed. */
  const buffers: (Uint8Array | undefined)[] = [undefined, undefined];
  let turn = 0;
  let requestedBytes = 0;
  let handedBytes = 0;
  let inFlight: Promise<Uint8Array> | undefined;
  let isClosed = false;

  /** Fills one buffer completely, or up to the size at opening: what a live writer appends later is not this file. */
  async function fill(wantedBytes: number): Promise<Uint8Array> {
    const position = requestedBytes;
    const length = Math.min(wantedBytes, sizeBytes - position);
    requestedBytes += length;
    turn ^= 1;
    let buffer = buffers[turn];
    if (buffer === undefined || buffer.length < length) {
      buffer = length <= FIRST_READ_BYTES ? (SPARE.pop() ?? readBuffer(FIRST_READ_BYTES)) : readBuffer(length);
      buffers[turn] = buffer;
    }
    await readAt(buffer, length, position);
    return buffer.subarray(0, length);
  }

  async function readAt(target: Uint8Array, length: number, position: number): Promise<void> {
    for (let filled = 0; filled < length; ) {
      const { bytesRead } = await handle.read(target, filled, length - filled, position + filled);
      if (bytesRead === 0) throw changed(`it now ends at byte ${position + filled}, before its ${sizeBytes} bytes`);
      filled += bytesRead;
    }
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
      hash?.update(chunk);
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
      if (hash !== undefined) while ((await next()) !== undefined);
      let digest: FileDigest | undefined;
      try {
        if (hash === undefined) digest = await sampleDigest(sizeBytes, readAt);
        const now = await handle.stat({ bigint: true });
        if (now.size !== opened.size) throw changed(`it had ${opened.size} bytes and now has ${now.size}`);
        if (now.mtimeNs !== opened.mtimeNs) throw changed('its modification time moved');
      } catch (error) {
        throw asReadError(error, undefined);
      }
      return digest ?? wholeDigest(hash!);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await inFlight?.catch(() => {}); // closing under a read in flight is undefined behaviour
      for (const buffer of buffers.splice(0))
        if (buffer?.length === FIRST_READ_BYTES && SPARE.length < MOST_SPARE) SPARE.push(buffer);
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
