/** Ends a child process, with all that it started, at its limits and when this process is asked to end. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { formatBytes, KIB } from '../model/units.js';

/** Those of memory and of waiting are of the child alone, and of Linux alone. */
export interface ChildLimits {
  readonly seconds: number;
  /** Asleep without a single wake-up, as before a pipe without a writer. Waiting for a disk does not count. */
  readonly asleepSeconds: number;
  /** Memory without files that it maps. */
  readonly memoryBytes: number;
}

export interface ChildGuard {
  /** Kills it and its group. */
  stop(): void;
  /** It has ended. */
  end(): void;
}

/** What reads `/dev/zero` grows by some 600 MiB a second. */
const LOOKS_PER_SECOND = 10;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const running = new Set<ChildProcess>();

/** @param atLimit is called once it was killed, with the limit in words; it may still be waiting for a disk */
export function guardChild(
  child: ChildProcess,
  { seconds, asleepSeconds, memoryBytes }: ChildLimits,
  atLimit: (limit: string) => void,
): ChildGuard {
  if (running.size === 0) listen();
  running.add(child);
  // Looks are counted, not the time: this process may have been suspended meanwhile.
  let looks = 0;
  let asleep = { since: 0, wakeUps: '' };
  const limitReached = (): string | undefined => {
    looks += 1;
    if (looks >= seconds * LOOKS_PER_SECOND) return `${seconds} s`;
    const state = stateOf(child.pid);
    if (state.ownBytes > memoryBytes) return `${formatBytes(memoryBytes)} of memory`;
    if (state.wakeUps === '' || state.wakeUps !== asleep.wakeUps) asleep = { since: looks, wakeUps: state.wakeUps };
    return looks - asleep.since >= asleepSeconds * LOOKS_PER_SECOND
      ? `${asleepSeconds} s of waiting for a file`
      : undefined;
  };
  const timer = setInterval(() => {
    const limit = limitReached();
    if (limit === undefined) return;
    killGroup(child);
    end();
    child.stdout?.destroy();
    child.stderr?.destroy();
    atLimit(limit);
  }, 1000 / LOOKS_PER_SECOND);
  const end = (): void => {
    clearInterval(timer);
    if (running.delete(child) && running.size === 0) unlisten();
  };
  return { stop: () => killGroup(child), end };
}

/** `wakeUps`: how often it was woken so far, if it is asleep; else empty. */
function stateOf(pid: number | undefined): { readonly ownBytes: number; readonly wakeUps: string } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return {
      ownBytes: Number(/^RssAnon:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * KIB,
      wakeUps: /^State:\s*S/m.test(status) ? (/^voluntary_ctxt_switches:.*$/m.exec(status)?.[0] ?? '') : '',
    };
  } catch {
    // It has ended, or this is not Linux.
    return { ownBytes: 0, wakeUps: '' };
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended, or the system lacks groups.
    child.kill('SIGKILL');
  }
}

function killAll(): void {
  for (const child of running) killGroup(child);
}

/** A group of its own gets no Ctrl-C of the terminal. */
function interrupted(signal: NodeJS.Signals): void {
  killAll();
  // Another listener cleans up, and ends the process.
  if (process.listenerCount(signal) > 1) return;
  process.off(signal, interrupted);
  process.kill(process.pid, signal);
}

function listen(): void {
  for (const signal of SIGNALS) process.on(signal, interrupted);
  process.on('exit', killAll);
}

function unlisten(): void {
  for (const signal of SIGNALS) process.off(signal, interrupted);
  process.off('exit', killAll);
}
