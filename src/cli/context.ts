/** The process as the verbs see it: the only place that reads the environment. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Context {
  /** The store that `--db` or `MBF_DB` names, if any. */
  readonly envDb: string | undefined;
  readonly cacheDir: string;
  /** Columns of the terminal, 100 when piped: the width the screens are made for. */
  readonly columns: number;
  /** Whether to show progress: a terminal, not CI. */
  readonly showProgress: boolean;
  readonly debug: boolean;
  /** Whether the locale can show more than ASCII. */
  readonly unicode: boolean;
  out(text: string): void;
  err(text: string): void;
}

export function processContext(): Context {
  const { env } = process;
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  return {
    envDb: env['MBF_DB'] || undefined,
    cacheDir: join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mbforensics'),
    columns: process.stdout.isTTY ? Math.max(60, process.stdout.columns) : 100,
    showProgress: process.stderr.isTTY === true && !env['CI'],
    debug: process.argv.includes('--debug'),
    unicode: /utf-?8/i.test(locale) || process.stdout.isTTY !== true,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  };
}
