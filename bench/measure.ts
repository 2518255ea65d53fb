/** Whole processes, timed from the outside, and rounds that let contenders meet the same noise. */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Sample {
  readonly seconds: number;
  /** Of the process and the children it waited for; null where it is not measured. */
  readonly peakRssBytes: number | null;
}

export interface ProcessRun extends Sample {
  readonly stdout: string;
  /** User and system time of all its threads; null without GNU time. */
  readonly cpuSeconds: number | null;
}

export interface ProcessOptions {
  /** Exit codes that do not mean failure. Default: only 0. */
  readonly okCodes?: readonly number[];
  readonly env?: Readonly<Record<string, string>>;
}

/** How peak memory is read; it is printed with the results. */
export type RssMethod = 'GNU time' | 'polling VmHWM' | 'not measured';

const GNU_TIME = '/usr/bin/time';
/** A peak that rises and ends within this time before the exit is missed; GNU time misses none. */
const POLL_MS = 20;

/** BSD's `time` knows no `-f`, so it is tried out rather than looked for. */
export function findRssMethod(): RssMethod {
  if (spawnSync(GNU_TIME, ['-f', '%M', 'true']).status === 0) return 'GNU time';
  return process.platform === 'linux' ? 'polling VmHWM' : 'not measured';
}

export class ProcessTimer {
  readonly method: RssMethod;
  readonly rssFile: string;

  constructor(method: RssMethod, directory: string) {
    this.method = method;
    this.rssFile = join(directory, `peak-rss-${process.pid}.txt`);
  }

  /**
   * Runs a program to its end: wall seconds from before the fork to after the exit, peak RSS, standard output.
   *
   * GNU time also keeps our own size out of the figure: Linux carries the resident peak of the forking process over an
   * `exec`, so a child spawned by this process directly would never report less than Node itself uses. It costs about a
   * millisecond.
   *
   * @throws {Error} with the end of stderr if the program cannot be started or fails.
   */
  async run(command: string, args: readonly string[], options: ProcessOptions = {}): Promise<ProcessRun> {
    const isWrapped = this.method === 'GNU time';
    const wrapped = isWrapped ? [GNU_TIME, '-f', '%M %U %S', '-o', this.rssFile, command, ...args] : [command, ...args];
    const began = performance.now();
    const child = spawn(wrapped[0]!, wrapped.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
    });
    let polledBytes = 0;
    const polling =
      this.method === 'polling VmHWM'
        ? setInterval(() => {
            polledBytes = Math.max(polledBytes, highWaterBytes(child.pid));
          }, POLL_MS)
        : undefined;
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-2000);
    });
    let seconds = 0;
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', () => {
          seconds = (performance.now() - began) / 1000;
        });
        child.once('close', resolve);
      });
      if (code === null || !(options.okCodes ?? [0]).includes(code)) {
        throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${stderr}`);
      }
    } finally {
      clearInterval(polling);
    }
    if (!isWrapped) return { seconds, stdout, cpuSeconds: null, peakRssBytes: polledBytes === 0 ? null : polledBytes };
    // An exit code other than 0 is printed on a line of its own before the figures; memory is in KiB.
    const figures = (await readFile(this.rssFile, 'utf8')).trim().split('\n').at(-1)!;
    const [kib, user, system] = figures.split(' ').map(Number);
    return { seconds, stdout, cpuSeconds: user! + system!, peakRssBytes: kib! * 1024 };
  }
}

/** 0 if the process is gone. */
function highWaterBytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** One run of one contender: samples by the name of the row they belong to. */
export type Contender = () => Promise<Readonly<Record<string, Sample>>>;

/**
 * Runs the contenders in turn, `repeat` times (a, b, c, a, b, c, …), so that a slow minute of the machine hits all of
 * them.
 *
 * @returns the samples by row, rows in order of their first appearance.
 */
export async function alternate(
  contenders: readonly Contender[],
  repeat: number,
  progress: (text: string) => void,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const rows = new Map<string, Sample[]>();
  for (let round = 1; round <= repeat; round += 1) {
    for (const run of contenders) {
      for (const [row, sample] of Object.entries(await run())) {
        const samples = rows.get(row);
        if (samples === undefined) rows.set(row, [sample]);
        else samples.push(sample);
        progress(`  round ${round}/${repeat}  ${row}: ${sample.seconds.toFixed(3)} s`);
      }
    }
  }
  return rows;
}
