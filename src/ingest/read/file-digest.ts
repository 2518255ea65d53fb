/**
 * By what a file is known again. Up to 16 MiB it is the SHA-256 of all of its bytes. Reading and hashing 1 GB takes a
 * second of a core, a fifth of ingesting it; so of a larger file it is that of its size and of 64 blocks, the first at
 * its beginning and the last at its end. Another file of the same size has other bytes in one of them; what is changed
 * in place between them moves the time of change, which has to be the same too.
 */
import { createHash, type Hash } from 'node:crypto';
import { KIB, MIB } from '../../model/units.js';

/** Up to here all bytes count. */
export const WHOLE_BYTES = 16 * MIB;
const BLOCKS = 64;
const BLOCK_BYTES = 128 * KIB;

export interface FileDigest {
  /** Of what: all bytes on disk, or a sample. */
  readonly of: 'whole' | 'sample';
  /** SHA-256, lower-case hex. */
  readonly hex: string;
}

/** Reads `length` bytes at `position` into `target`. */
type ReadAt = (target: Uint8Array, length: number, position: number) => Promise<void>;

/** The digest of a file of more than {@link WHOLE_BYTES}. */
export async function sampleDigest(sizeBytes: number, readAt: ReadAt): Promise<FileDigest> {
  const hash = createHash('sha256').update(`${sizeBytes}\n`);
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  for (let i = 0; i < BLOCKS; i += 1) {
    await readAt(block, BLOCK_BYTES, Math.floor((i * (sizeBytes - BLOCK_BYTES)) / (BLOCKS - 1)));
    hash.update(block);
  }
  return { of: 'sample', hex: hash.digest('hex') };
}

export const wholeDigest = (hash: Hash): FileDigest => ({ of: 'whole', hex: hash.digest('hex') });

/** What a store keeps of a file to know it again; all NULL if nothing could be read. */
export interface KnownBytes {
  readonly sha256: string | null;
  readonly sample_sha256: string | null;
  readonly modified_us: number | null;
}

export function knownBytes(digest: FileDigest | undefined, mtimeMs: number): KnownBytes {
  if (digest?.of === 'sample')
    return { sha256: null, sample_sha256: digest.hex, modified_us: Math.floor(mtimeMs * 1000) };
  return { sha256: digest?.hex ?? null, sample_sha256: null, modified_us: null };
}

/** `time`: the sample is the same, the time of change is not. */
export function compareBytes(known: KnownBytes, now: KnownBytes): 'same' | 'time' | 'other' {
  if (known.sha256 !== now.sha256 || known.sample_sha256 !== now.sample_sha256) return 'other';
  return known.modified_us === now.modified_us ? 'same' : 'time';
}
