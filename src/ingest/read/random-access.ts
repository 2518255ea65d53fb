/**
 * Bytes of one file by position. A compressed file is first unpacked into the system's folder of temporary files, since
 * its format lacks positions.
 */
import { closeSync, fstatSync, openSync, readSync, rmSync, type Stats, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MbfError } from '../../model/errors.js';
import type { ByteSource, RandomAccess } from '../../model/parser.js';
import { MIB } from '../../model/units.js';
import { makeTemporaryDirectory } from '../../store/temporary-files.js';

export interface OpenedRandomAccess extends RandomAccess {
  /** Throws MBF2009 if the file is not the one that was opened any more. */
  check(): void;
  close(): void;
}

/** @throws {MbfError} MBF2007 if it cannot be opened. */
export function openRandomAccess(path: string): OpenedRandomAccess {
  return randomAccessOf(
    asReadError(undefined, () => openSync(path, 'r')),
    path,
  );
}

/** `named` is the file whose neighbours `siblingBytes` looks at. */
function randomAccessOf(fd: number, named: string): OpenedRandomAccess {
  const opened = fstatSync(fd);
  let isOpen = true;
  const check = (): void => {
    const now = fstatSync(fd);
    if (now.size !== opened.size) throw changed(`it had ${opened.size} bytes and now has ${now.size}`);
    if (now.mtimeMs !== opened.mtimeMs) throw changed('its modification time moved');
  };
  return {
    sizeBytes: opened.size,
    readAt(target, position) {
      let filled = 0;
      while (filled < target.length && position + filled < opened.size) {
        const at = position + filled;
        const read = asReadError(at, () => readSync(fd, target, filled, target.length - filled, at));
        if (read === 0) throw changed(`it now ends at byte ${at}, before its ${opened.size} bytes`);
        filled += read;
      }
      return filled;
    },
    siblingBytes: (suffix) => statOf(named + suffix)?.size,
    check,
    close() {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

/**
 * {@link openRandomAccess} of what `source` inflates to; `named` is the compressed file. The copy is deleted while it
 * is open, so that it goes with the process whatever happens: a killed ingest left up to 64 GiB.
 */
export async function unpackForRandomAccess(source: ByteSource, named: string): Promise<OpenedRandomAccess> {
  let fd: number | undefined;
  try {
    const directory = makeTemporaryDirectory();
    try {
      fd = openSync(join(directory, 'unpacked'), 'wx+');
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
    const piece = new Uint8Array(4 * MIB);
    for (;;) {
      const length = await source.read(piece, 0);
      if (length === 0) break;
      for (let written = 0; written < length; ) written += writeSync(fd, piece, written, length - written);
    }
    return randomAccessOf(fd, named);
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw new MbfError('MBF3005', `cannot be unpacked: no space is left in ${tmpdir()}`, { file: named }, error);
    throw error;
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function changed(fact: string): MbfError {
  return new MbfError('MBF2009', `changed while it was read: ${fact}`);
}

function asReadError<T>(offset: number | undefined, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new MbfError('MBF2007', `cannot be read: ${code}`, offset === undefined ? {} : { offset }, error);
  }
}
