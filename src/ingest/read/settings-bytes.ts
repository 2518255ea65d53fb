/**
 * Bytes of a file that may hold settings. Configurations are small, so they are read whole and at once; what is large
 * or compressed goes the way of every other input, whose readers are loaded only then.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { MbfError } from '../../model/errors.js';
import type { ByteSource } from '../../model/parser.js';
import { KIB, MIB } from '../../model/units.js';

/** As detection wants it. */
const HEAD_BYTES = 64 * KIB;
/** A configuration of a thousand ranks with every default spelt out has less. */
const MOST_AT_ONCE_BYTES = MIB;

export interface SettingsBytes {
  /** The first 64 KiB, inflated. */
  readonly head: Uint8Array;
  /** On disk. */
  readonly sizeBytes: number;
  /** From the first byte on; to be read once. */
  readonly source: ByteSource;
  close(): Promise<void>;
}

/** @throws {MbfError} MBF1003 if the file does not exist, MBF2007 if it cannot be read; without `file`. */
export async function openSettingsBytes(path: string): Promise<SettingsBytes> {
  const bytes = readSmall(path);
  if (bytes !== undefined) return bytesAtHand(bytes);
  const { openByteSource } = await import('./byte-source.js');
  const opened = await openByteSource(path);
  try {
    const { source, sizeBytes } = opened;
    return { head: await opened.head(), sizeBytes, source, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

export function bytesAtHand(bytes: Uint8Array): SettingsBytes {
  let at = 0;
  return {
    head: bytes.subarray(0, HEAD_BYTES),
    sizeBytes: bytes.length,
    source: {
      sizeBytes: bytes.length,
      async read(target, start) {
        const piece = bytes.subarray(at, at + target.length - start);
        target.set(piece, start);
        at += piece.length;
        return piece.length;
      },
    },
    close: async () => undefined,
  };
}

/** The whole file; undefined if it is large or compressed. */
function readSmall(path: string): Uint8Array | undefined {
  let fd: number | undefined;
  try {
    // O_NONBLOCK: opening a pipe must not wait for a writer.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new MbfError('MBF2007', 'is not a regular file');
    if (stats.size > MOST_AT_ONCE_BYTES) return undefined;
    const bytes = new Uint8Array(stats.size);
    let length = 0;
    for (let count = 1; count > 0 && length < bytes.length; length += count)
      count = readSync(fd, bytes, length, bytes.length - length, length);
    const read = bytes.subarray(0, length);
    return isCompressed(read) ? undefined : read;
  } catch (error) {
    if (error instanceof MbfError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new MbfError('MBF1003', 'no such file or directory', {}, error);
    throw new MbfError('MBF2007', `cannot be read: ${code}`, {}, error);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The marks that `byte-source.ts` looks for: of gzip, of zstd, and of zstd's frames to be skipped. */
function isCompressed(bytes: Uint8Array): boolean {
  const [a, b, c, d] = bytes;
  if (a === 0x1f && b === 0x8b) return true;
  const isFrame = a === 0x28 && b === 0xb5 && c === 0x2f;
  const isSkipped = a !== undefined && a >> 4 === 5 && b === 0x2a && c === 0x4d;
  return (isFrame && d === 0xfd) || (isSkipped && d === 0x18);
}
