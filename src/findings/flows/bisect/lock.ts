/** One `bisect run` at a time: two would empty and fill the same folders. */
import { rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readSmallFile } from '../../../git/read-small-file.js';
import { MbfError } from '../../../model/errors.js';
import { KIB } from '../../../model/units.js';

/** Returns what ends it. Throws MBF1013 while another process has it; one that was killed does not count. */
export function lockSession(directory: string): () => void {
  const file = join(directory, 'running.json');
  const text = JSON.stringify({ pid: process.pid, host: hostname() });
  if (!create(file, text)) {
    const read = readSmallFile(file, { mostBytes: KIB, noLink: true });
    const holder = read !== undefined && 'text' in read ? read.text : '';
    const pid = Number(/"pid":(\d{1,9})\b/.exec(holder)?.[1] ?? 0);
    const isOfThisHost = holder === JSON.stringify({ pid, host: hostname() });
    if (isOfThisHost && !isRunning(pid)) rmSync(file, { force: true });
    if (!create(file, text))
      throw new MbfError('MBF1013', `another \`bisect run\` is running${isOfThisHost ? `: process ${pid}` : ''}`, {
        file,
      });
  }
  return () => rmSync(file, { force: true });
}

/** False: the file exists. */
function create(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs for another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
