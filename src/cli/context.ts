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
  /** Columns of the terminal; 100 where output goes elsewhere. */
  readonly columns: number;
  /** Whether the locale says that block characters can be shown. */
  readonly unicode: boolean;
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
    columns: process.stdout.columns ?? 100,
    unicode: isUnicode(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG']),
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  };
}

/** An unset locale is what containers and cron have; their output is read on UTF-8 terminals nowadays. Only a locale that names another encoding says no. */
function isUnicode(locale: string | undefined): boolean {
  return locale === undefined || locale === '' || /utf-?8/i.test(locale) || !locale.includes('.');
}
