/**
 * One writer of a run at a time: while files are put into their places or removed, which takes a second. The lock is a
 * symbolic link whose target names its process: it is made with its content at once, on shared file systems too.
 */
import { lstatSync, lutimesSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { MbfError } from '../model/errors.js';
import { isOver, ownerTag } from '../store/temporary-files.js';

const POLL_MS = 50;
/** A writer touches its lock with every table. One of another host that does not is taken for dead. */
const ABANDONED_MS = 120_000;
const LONGEST_WAIT_MS = 600_000;
export const LOCK = /^\.(.+)\.lock(?:\.break)?$/;

export const lockOf = (lake: string, run: string): string => join(lake, `.${run}.lock`);

/** `work` calls `touch` at least every minute. MBF1013 if another process keeps the lock. */
export async function withRunLock<Result>(
  lake: string,
  run: string,
  work: (touch: () => void) => Promise<Result> | Result,
): Promise<Result> {
  const file = lockOf(lake, run);
  const end = Date.now() + LONGEST_WAIT_MS;
  while (!take(file)) {
    if (isAbandoned(file)) breakLock(file);
    else if (Date.now() > end) throw new MbfError('MBF1013', 'another process is writing to the run', { file });
    else await setTimeout(POLL_MS * (1 + Math.random()));
  }
  try {
    return await work(() => lutimesSync(file, new Date(), new Date()));
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    symlinkSync(ownerTag(), file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Whether the process that holds the lock has ended; false if nothing has the name. */
export function isAbandoned(file: string): boolean {
  try {
    return isOver(readlinkSync(file)) || Date.now() - lstatSync(file).mtimeMs > ABANDONED_MS;
  } catch {
    return false;
  }
}

/** One of those that wait removes it: the others would remove the lock of the first. */
function breakLock(file: string): void {
  const breaking = `${file}.break`;
  if (!take(breaking)) {
    if (isAbandoned(breaking)) rmSync(breaking, { force: true });
    return;
  }
  if (isAbandoned(file)) rmSync(file, { force: true });
  rmSync(breaking, { force: true });
}
