/** The process as the verbs see it: the only place that reads the environment. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Context {
  /** The store that `--db` or `MBF_DB` names, if any. */
  readonly envDb: string | undefined;
  readonly cacheDir: string;
  /** Whether to show progress: a terminal, not CI. */
  readonly showProgress: boolean;
  readonly debug: boolean;
  out(text: string): void;
  err(text: string): void;
}

export function processContext(): Context {
  const { env } = process;
  return {
    envDb: env['MBF_DB'] || undefined,
    cacheDir: join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mbforensics'),
    showProgress: process.stderr.isTTY === true && !env['CI'],
    debug: process.argv.includes('--debug'),
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  };
}
