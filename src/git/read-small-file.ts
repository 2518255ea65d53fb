/** Files of a git directory, which others may have written: no pipes, no devices, none larger than expected. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { formatBytes } from '../model/units.js';

export interface SmallFileOptions {
  readonly mostBytes: number;
  /** Whether a symbolic link is refused. */
  readonly noLink?: boolean;
}

/** Undefined: the file is missing. */
export type SmallFile = { readonly text: string } | { readonly problem: string } | undefined;

/** The text of a regular file, or why it is not read. */
export function readSmallFile(file: string, { mostBytes, noLink = false }: SmallFileOptions): SmallFile {
  let fd: number | undefined;
  try {
    // O_NONBLOCK: opening a pipe must not wait for a writer.
    const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (noLink ? (constants.O_NOFOLLOW ?? 0) : 0);
    fd = openSync(file, flags);
    const stats = fstatSync(fd);
    if (!stats.isFile()) return { problem: 'is not a regular file' };
    if (stats.size > mostBytes) return { problem: `larger than ${formatBytes(mostBytes)}` };
    const bytes = Buffer.alloc(stats.size);
    let length = 0;
    for (let count = 1; count > 0 && length < bytes.length; length += count)
      count = readSync(fd, bytes, length, bytes.length - length, length);
    return { text: bytes.toString('utf8', 0, length) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return { problem: code === 'ELOOP' ? 'is a symbolic link' : `cannot be read: ${code}` };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
