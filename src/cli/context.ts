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
  /** Width of the terminal that standard output is; undefined where it is none. */
  readonly terminalColumns: number | undefined;
  /** Whether the locale can show more than ASCII. */
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
    terminalColumns: process.stdout.isTTY === true ? process.stdout.columns : undefined,
    unicode: isUnicode(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG']),
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  };
}

/** A locale that names no encoding, or none at all (containers), is taken for UTF-8; only `C`, `POSIX` and another encoding say otherwise. */
function isUnicode(locale: string | undefined): boolean {
  if (locale === undefined || locale === '') return true;
  const encoding = /\.([^@]+)/.exec(locale)?.[1];
  if (encoding === undefined) return locale !== 'C' && locale !== 'POSIX';
  return /^utf-?8$/i.test(encoding);
}
