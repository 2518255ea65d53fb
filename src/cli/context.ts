/** The process as the verbs see it: the only place that reads the environment. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Context {
  /** For programs that a verb starts: git, the launch command of a bisection. */
  readonly env: NodeJS.ProcessEnv;
  /** The store where `--db` names none. */
  readonly db: string;
  readonly cacheDir: string;
  /** Whether to show progress: a terminal, not CI. */
  readonly showProgress: boolean;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Width of that terminal; undefined where it is none. */
  readonly terminalColumns: number | undefined;
  /** Whether the locale can show more than ASCII. */
  readonly unicode: boolean;
  out(content: string | Uint8Array): void;
  /** Waits until all of `out` is written. */
  written(): Promise<void>;
  err(content: string | Uint8Array): void;
}

export function processContext(): Context {
  const { env, stdout, stderr } = process;
  return {
    env,
    db: env['MBF_DB'] || 'mbforensics.duckdb',
    cacheDir: join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mbforensics'),
    showProgress: stderr.isTTY === true && !env['CI'],
    isTerminal: stdout.isTTY === true,
    terminalColumns: stdout.isTTY === true ? stdout.columns : undefined,
    unicode: isUnicode(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG']),
    out: (content) => void stdout.write(content),
    written: () =>
      new Promise((done, fail) => void stdout.write('', (error) => (error == null ? done() : fail(error)))),
    err: (content) => void stderr.write(content),
  };
}

/** A locale without an encoding, or none at all (containers), counts as UTF-8, except `C` and `POSIX`. */
function isUnicode(locale: string | undefined): boolean {
  if (locale === undefined || locale === '') return true;
  const encoding = /\.([^@]+)/.exec(locale)?.[1];
  if (encoding === undefined) return locale !== 'C' && locale !== 'POSIX';
  return /^utf-?8$/i.test(encoding);
}
