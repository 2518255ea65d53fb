/**
 * Names of temporary files. They contain the process that made them, so that files of a killed process can be removed
 * without touching those of a running one.
 *
 * A tag is HOST-PID-START. HOST is a hash of the host and its namespace of processes, since directories are shared
 * between hosts and containers; START is when the process began, since numbers of processes are used again.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';

const TAG = '[0-9a-f]{8}-[0-9]{1,10}-[0-9a-z]{1,16}';
/** `mbforensics-TAG-XXXXXX`, and `FILE.TAG.new` or `.tmp` with a log. */
const NAMES = new RegExp(`^\\.?mbforensics-(${TAG})-\\w{6}$|\\.(${TAG})\\.(?:new|tmp)(?:\\.wal(?:\\.\\w+)?)?$`);

let processTag: string | undefined;
/** Where this process makes temporary files. */
const used = new Set<string>();

/** Of this process. */
export function ownerTag(): string {
  processTag ??= `${hostTag()}-${process.pid}-${startOf(process.pid) ?? '0'}`;
  return processTag;
}

/** `FILE.TAG.SUFFIX`, in `directory`, for a file or directory that is being made. */
export function temporaryName(file: string, suffix: 'new' | 'tmp', directory: string): string {
  used.add(directory);
  return `${file}.${ownerTag()}.${suffix}`;
}

/**
 * A directory and those around it; Node's error where one cannot be made. Its `recursive` never ends below /proc,
 * where a directory that exists takes none (ENOENT).
 */
export function makeDirectories(path: string): void {
  if (existsSync(path)) return;
  makeDirectories(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may have made it.
    if (!existsSync(path)) throw error;
  }
}

/** An empty directory in `parent`, or in that of temporary files, without symbolic links. */
export function makeTemporaryDirectory(parent: string = tmpdir(), isHidden = false): string {
  const real = realpathSync(parent);
  if (!used.has(real)) sweepTemporaryFiles(real);
  used.add(real);
  return mkdtempSync(join(real, `${isHidden ? '.' : ''}mbforensics-${ownerTag()}-`));
}

/** Removes from `directory` what processes left that have ended. Best effort: it only wastes space. */
export function sweepTemporaryFiles(directory: string = tmpdir()): void {
  removeWhere(directory, isOver);
}

/** Removes all temporary files of this process, which is about to end. */
export function removeTemporaryFiles(): void {
  const tag = ownerTag();
  for (const directory of used) removeWhere(directory, (owner) => owner === tag);
}

function removeWhere(directory: string, isToGo: (tag: string) => boolean): void {
  try {
    const { uid } = userInfo();
    for (const name of readdirSync(directory)) {
      const match = NAMES.exec(name);
      const tag = match?.[1] ?? match?.[2];
      if (tag === undefined || !isToGo(tag)) continue;
      const path = join(directory, name);
      // A link is not ours, whatever its name; nothing behind one is looked at.
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat === undefined || stat.uid !== uid || !(stat.isFile() || stat.isDirectory())) continue;
      rmSync(path, { recursive: true, force: true });
    }
  } catch {
    // Not to be listed, or gone meanwhile.
  }
}

/** Whether the process that made what has this name runs; one of another host does. Undefined: another kind of name. */
export function isMadeByLiving(name: string): boolean | undefined {
  const match = NAMES.exec(name);
  const tag = match?.[1] ?? match?.[2];
  return tag === undefined ? undefined : !isOver(tag);
}

/** Whether the process has ended. One of another host counts as running. */
export function isOver(tag: string): boolean {
  const [host, pid, start] = tag.split('-');
  if (host !== hostTag()) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const now = startOf(Number(pid));
  return now !== undefined && start !== '0' && start !== now;
}

let host: string | undefined;

function hostTag(): string {
  if (host === undefined) {
    let space = '';
    try {
      space = readlinkSync('/proc/self/ns/pid');
    } catch {
      // Not Linux.
    }
    host = createHash('sha256').update(`${hostname()}\n${space}`).digest('hex').slice(0, 8);
  }
  return host;
}

/** When a process began, in ticks since the start of the system; undefined where that is not known. */
function startOf(pid: number): string | undefined {
  try {
    // The name of the program, in brackets, may contain anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[19]).toString(36);
  } catch {
    return undefined;
  }
}
