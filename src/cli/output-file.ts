/**
 * Files that a verb writes. They are made in a temporary directory next to their place and moved when complete, so that
 * neither a failure nor a signal leaves half a file, and nothing is replaced without consent.
 */
import { once } from 'node:events';
import {
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { MbfError } from '../model/errors.js';
import { visibleLines } from '../model/escape-controls.js';
import type { Context } from './context.js';
import { heldDirectory } from './interrupt.js';

/** Characters gathered before they are written. */
const BUFFER_CHARS = 1 << 18;

export interface TextSink {
  write(piece: string | Uint8Array): void;
  /** Writes what was gathered. */
  end(): void;
}

/** Gathers pieces of text for `out`: one call of the system for thousands of lines. */
function gathering(out: (piece: string | Uint8Array) => void): TextSink {
  let parts: string[] = [];
  let chars = 0;
  const end = (): void => {
    if (chars > 0) out(parts.join(''));
    parts = [];
    chars = 0;
  };
  return {
    write(piece) {
      if (typeof piece !== 'string') return out(piece);
      parts.push(piece);
      chars += piece.length;
      if (chars >= BUFFER_CHARS) end();
    },
    end,
  };
}

/** `exact`: data of the user, in which nothing is escaped. */
export function standardOutput({ bytes, out }: Context, exact: boolean): TextSink {
  return gathering((piece) => {
    if (typeof piece !== 'string') bytes(piece);
    else if (exact) bytes(Buffer.from(piece));
    else out(piece);
  });
}

/**
 * Runs `work` with an empty directory that is always removed afterwards, also when a signal ends the process. The
 * directory is in `parent`, on the file system of the files to come; errors name `shown`.
 */
export async function withWorkDirectory<Result>(
  parent: string,
  shown: string,
  work: (directory: string) => Promise<Result>,
): Promise<Result> {
  const { directory, dispose } = writing(shown, () => heldDirectory(parent, true));
  try {
    return await work(directory);
  } finally {
    await dispose();
  }
}

/** MBF1007 if something is at `file` already and may not be replaced; MBF3006 if it is a directory. */
export function checkFree(file: string, force: boolean): void {
  const stat = writing(file, () => lstatSync(file, { throwIfNoEntry: false }));
  if (stat === undefined) return;
  if (stat.isDirectory()) throw new MbfError('MBF3006', 'the path is a directory', { file });
  if (!force) throw new MbfError('MBF1007', 'the file exists', { file });
}

/**
 * Moves a whole file to its place; returns its bytes. Errors as {@link checkFree}, also if the file appeared meanwhile.
 */
export function putInPlace(work: string, file: string, force: boolean): number {
  return writing(file, () => {
    const { size } = statSync(work);
    checkFree(file, force);
    if (force) renameSync(work, file);
    else {
      try {
        // Unlike a rename, a link fails where a name exists.
        linkSync(work, file);
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        if (code === 'EEXIST') throw new MbfError('MBF1007', 'the file exists', { file });
        // FAT, some FUSE and object-store mounts lack hard links.
        if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS' && code !== 'EMLINK')
          throw error;
        copyFileSync(work, file, constants.COPYFILE_EXCL);
      }
    }
    return size;
  });
}

/** Moves a directory of whole files to `target`, which may exist; see {@link putInPlace}. */
export function putDirectoryInPlace(work: string, target: string, names: readonly string[], force: boolean): void {
  writing(target, () => {
    const stat = statSync(target, { throwIfNoEntry: false });
    if (stat !== undefined && !stat.isDirectory())
      throw new MbfError('MBF1007', 'a file has that name', { file: target });
    if (stat === undefined) return renameSync(work, target);
    for (const name of names) checkFree(join(target, name), force);
    for (const name of names) putInPlace(join(work, name), join(target, name), force);
    for (const name of names) rmSync(join(work, name), { force: true });
    rmdirSync(work);
  });
}

/** Writes a new file; the sink's errors are MBF3006 and name `shown`. */
export async function writeTextFile<Result>(
  path: string,
  shown: string,
  fill: (sink: TextSink) => Promise<Result> | Result,
): Promise<Result> {
  const handle = writing(shown, () => openSync(path, 'wx'));
  try {
    const sink = gathering((piece) => writing(shown, () => writeAll(handle, Buffer.from(piece))));
    const result = await fill(sink);
    sink.end();
    return result;
  } finally {
    closeSync(handle);
  }
}

function writeAll(handle: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
}

/** Copies a file to standard output. */
export async function sendFile(path: string): Promise<void> {
  for await (const chunk of createReadStream(path)) {
    if (!process.stdout.write(chunk as Buffer)) await once(process.stdout, 'drain');
  }
}

/** Errors of the file system while `file` is written, as MBF3006. */
export function writing<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw asOutputError(file, error);
  }
}

export function asOutputError(file: string, error: unknown): unknown {
  if (error instanceof MbfError || !(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? error : new MbfError('MBF3006', OF_CODE[code] ?? error.message, { file }, error);
}

/** In words, without the temporary name that Node's own messages carry. */
const OF_CODE: Readonly<Record<string, string>> = {
  ENOENT: 'its directory does not exist',
  ENOTDIR: 'its directory is a file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the quota is used up',
  EFBIG: 'the file is too large for the file system',
  EIO: 'an input or output error',
};

/** Directory and name of an output, the directory resolved. */
export function placeOf(file: string): { readonly parent: string; readonly name: string } {
  const path = resolve(file);
  return { parent: dirname(path), name: basename(path) };
}

/** A rendering that a verb writes besides its answer; the file is replaced whole, and `-` is standard output. */
export async function writeReport(file: string, content: string, context: Context): Promise<void> {
  if (file === '-') context.out(content);
  else await writeWhole(file, content, true);
}

/** A text as a whole, in place of what is there with `force`; as on a screen, nothing in it is invisible. */
export async function writeWhole(file: string, content: string, force: boolean): Promise<void> {
  const { parent, name } = placeOf(file);
  await withWorkDirectory(parent, file, async (directory) => {
    const work = join(directory, name);
    await writeTextFile(work, file, (sink) => sink.write(visibleLines(content)));
    putInPlace(work, file, force);
  });
}
