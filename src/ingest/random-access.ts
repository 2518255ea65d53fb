/**
 * Bytes of one file by position. A compressed file is first unpacked into the system's folder of temporary files, since
 * its format lacks positions.
 */
import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MbfError } from '../model/errors.js';
import type { ByteSource, RandomAccess } from '../model/parser.js';
import { MIB } from '../model/units.js';

export interface OpenedRandomAccess extends RandomAccess {
  /** Throws MBF2009 if the file is not the one that was opened any more. */
  check(): void;
  close(): void;
}

/** @throws {MbfError} MBF2007 if it cannot be opened. `named` is the file whose neighbours `siblingBytes` looks at. */
export function openRandomAccess(path: string, named = path): OpenedRandomAccess {
  const fd = asReadError(undefined, () => openSync(path, 'r'));
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

/** {@link openRandomAccess} of what `source` inflates to; `close` removes the copy. `named` is the compressed file. */
export async function unpackForRandomAccess(source: ByteSource, named: string): Promise<OpenedRandomAccess> {
  const directory = mkdtempSync(join(tmpdir(), 'mbforensics-'));
  try {
    const path = join(directory, 'unpacked');
    const fd = openSync(path, 'wx');
    try {
      const piece = new Uint8Array(4 * MIB);
      for (;;) {
        const length = await source.read(piece, 0);
        if (length === 0) break;
        for (let written = 0; written < length; ) written += writeSync(fd, piece, written, length - written);
      }
    } finally {
      closeSync(fd);
    }
    const opened = openRandomAccess(path, named);
    return {
      ...opened,
      close() {
        opened.close();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
      throw new MbfError('MBF2007', `cannot be unpacked: no space left in ${tmpdir()}`, {}, error);
    }
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
