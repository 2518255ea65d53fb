/** Runs the launch command of a commit and keeps what it prints. */
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { MbfError } from '../../../model/errors.js';

export interface Launch {
  readonly command: readonly string[];
  /** Where the command shall write; it finds it as `MBF_OUTPUT_DIR`. */
  readonly output: string;
  /** File that gets its standard output and error. */
  readonly log: string;
  /** `MBF_COMMIT` and `MBF_ATTEMPT`. */
  readonly sha: string;
  readonly attempt: number;
  readonly timeoutMs: number | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Also gets what the command prints, as it comes. */
  readonly echo: (text: Buffer) => void;
}

export interface LaunchEnd {
  /** Exit code; null where a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
}

/** How long a command has to end by itself once it was asked to. */
const GRACE_MS = 10_000;
/** What shells print about a command that cannot be run. */
const CANNOT_RUN: ReadonlySet<number> = new Set([126, 127]);

/**
 * Ends with the command. Its whole process group gets SIGTERM at the timeout and when this process is asked to end,
 * then SIGKILL if that does not help. Throws MBF1010 where the command cannot be run at all: that is independent of the
 * commit.
 */
export async function launch({ command, output, log, sha, attempt, timeoutMs, env, echo }: Launch): Promise<LaunchEnd> {
  const file = createWriteStream(log);
  const [program, ...args] = command;
  // A group of its own: launchers start processes that start processes.
  const child = spawn(program!, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, MBF_OUTPUT_DIR: output, MBF_COMMIT: sha, MBF_ATTEMPT: String(attempt) },
  });
  let timedOut = false;
  const timers: NodeJS.Timeout[] = [];
  const stop = (): void => {
    signalGroup(child.pid, 'SIGTERM');
    timers.push(setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GRACE_MS));
  };
  if (timeoutMs !== undefined)
    timers.push(
      setTimeout(() => {
        timedOut = true;
        stop();
      }, timeoutMs),
    );
  const interrupted = (signal: NodeJS.Signals): void => {
    signalGroup(child.pid, 'SIGTERM');
    setTimeout(() => {
      signalGroup(child.pid, 'SIGKILL');
      process.off(signal, interrupted);
      process.kill(process.pid, signal);
    }, 1_000);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupted);
  try {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        echo(chunk);
        file.write(chunk);
      });
    const end = await new Promise<LaunchEnd>((done, fail) => {
      child.on('error', (error) => fail(new MbfError('MBF1010', `${program}: ${error.message}`, {}, error)));
      child.on('close', (code, signal) => done({ code, signal, timedOut }));
    });
    if (end.code !== null && CANNOT_RUN.has(end.code))
      throw new MbfError('MBF1010', `${command.join(' ')} ended with ${end.code}: a command of it cannot be run`);
    return end;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    for (const signal of signals) process.off(signal, interrupted);
    // Whatever a launcher leaves running would disturb the next commit.
    signalGroup(child.pid, 'SIGKILL');
    file.end();
    await finished(file).catch(() => undefined);
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}
