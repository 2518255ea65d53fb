/** The command line in a process of its own that stays for many calls, watched for hangs; see `warm-cli.mjs`. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/store/load-queries.js';
import { cpuSecondsOf } from './watch-process.js';

export type Answer =
  | { readonly status: number; readonly stdout: string; readonly stderr: string }
  | { readonly fault: string; readonly isHang: boolean };

/** Of a call, the start of the process included: most take a tenth of a second. */
const MOST_CALL_CPU_SECONDS = 12;
/** A call that waits for something, such as a pipe, takes no CPU time. */
const MOST_CALL_SECONDS = 90;
const WATCH_MS = 250;
const MOST_RSS_BYTES = 900 * 2 ** 20;

export class ProgramHost {
  /** Of the call that needed most. */
  maxRssBytes = 0;
  calls = 0;
  private child: ChildProcess | undefined;
  private readonly home: string;
  private readonly main: string;

  constructor(home: string, main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')) {
    this.home = home;
    this.main = main;
    mkdirSync(join(home, 'tmp'), { recursive: true });
  }

  async run(args: readonly string[], cwd: string): Promise<Answer> {
    this.calls += 1;
    const child = this.child ?? this.start();
    const env = {
      ...{ PATH: process.env['PATH'] ?? '', HOME: this.home, XDG_CACHE_HOME: join(this.home, 'cache'), TZ: 'UTC' },
      ...{ TMPDIR: join(this.home, 'tmp'), LC_ALL: 'C.UTF-8', NO_COLOR: '1', GIT_CONFIG_GLOBAL: '/dev/null', CI: '1' },
    };
    const startCpu = cpuSecondsOf(child.pid!) ?? 0;
    const start = Date.now();
    let isHang = false;
    const watch = setInterval(() => {
      const cpu = (cpuSecondsOf(child.pid!) ?? 0) - startCpu;
      if (cpu < MOST_CALL_CPU_SECONDS && Date.now() - start < MOST_CALL_SECONDS * 1000) return;
      isHang = true;
      child.kill('SIGKILL');
    }, WATCH_MS);
    try {
      return await new Promise<Answer>((resolve) => {
        child.once('exit', (code, signal) => {
          this.child = undefined;
          const fault = isHang ? 'the call did not end' : `the process ended with ${signal ?? code}`;
          resolve({ fault, isHang });
        });
        child.once('message', (message: { answer?: Answer; fault?: string; rssBytes?: number }) => {
          this.maxRssBytes = Math.max(this.maxRssBytes, message.rssBytes ?? 0);
          if ((message.rssBytes ?? 0) > MOST_RSS_BYTES) this.close();
          resolve(message.answer ?? { fault: message.fault ?? 'an empty answer', isHang: false });
        });
        child.send({ args, cwd, env });
      });
    } finally {
      clearInterval(watch);
      child.removeAllListeners('message');
      child.removeAllListeners('exit');
    }
  }

  close(): void {
    this.child?.disconnect();
    this.child = undefined;
  }

  private start(): ChildProcess {
    this.child = fork(join(packageRoot(), 'test', 'support', 'warm-cli.mjs'), [this.main], {
      execArgv: ['--max-old-space-size=2048'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    return this.child;
  }
}
