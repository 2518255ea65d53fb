/** CPU time of another process, from the system; undefined where the system does not provide it. */
import { readFileSync } from 'node:fs';

/** Of Linux, on all machines in use. */
const TICKS_PER_SECOND = 100;

export function cpuSecondsOf(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}
