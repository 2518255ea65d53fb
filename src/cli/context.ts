/** The process as the verbs see it: the only place that reads the environment. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { hideSecrets } from '../knowledge/secrets.js';
import { visibleText } from '../model/escape-controls.js';
import { forTerminal } from '../report/screen.js';

export interface Context {
  /** For programs that a verb starts: git, the launch command of a bisection. */
  readonly env: NodeJS.ProcessEnv;
  /** The store where `--db` names none. */
  readonly db: string;
  readonly cacheDir: string;
  /** Log formats of the user, as `parseFormats` gives them. */
  readonly formats?: string | undefined;
  /** On stderr: a line that is rewritten on a terminal, lines elsewhere. */
  readonly progress: 'line' | 'lines' | 'none';
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Columns of the terminal, else $COLUMNS, else 100. */
  readonly columns: number;
  /** Neither a terminal nor $COLUMNS limits the lines of standard output: tables are as wide as their cells. */
  readonly isLossless: boolean;
  /** Whether standard output gets colours and bold. */
  readonly hasColor: boolean;
  /** Whether the locale can show more than ASCII. */
  readonly unicode: boolean;
  /** Text of a result. Of this and of `err`, nothing reaches the terminal but what `forTerminal` lets through. */
  out(text: string): void;
  /** A result that is not text, as it is. */
  bytes(content: Uint8Array): void;
  /** Waits until all of `out` is written. */
  written(): Promise<void>;
  /** Without secrets: an error may quote the file. */
  err(text: string): void;
  /** Replaces the line of `progress` on standard error. */
  progressLine(text: string): void;
  /** Output of a program that the user had started, as it is, on standard error. */
  echo(content: Uint8Array): void;
}

export type ColorWhen = 'auto' | 'always' | 'never';

export function processContext(color: ColorWhen = 'auto'): Context {
  const { env, stdout, stderr } = process;
  // https://no-color.org
  const allowed = !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const hasColor = color === 'auto' ? stdout.isTTY === true && allowed : color === 'always';
  const errorColor = color === 'auto' ? stderr.isTTY === true && allowed : color === 'always';
  return {
    env,
    db: env['MBF_DB'] || 'mbforensics.duckdb',
    cacheDir: join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mbforensics'),
    progress: stderr.isTTY === true && !env['CI'] ? 'line' : 'lines',
    isTerminal: stdout.isTTY === true,
    isLossless: stdout.isTTY !== true && !Number(env['COLUMNS']),
    columns: (stdout.isTTY === true ? stdout.columns : Number(env['COLUMNS'])) || 100,
    hasColor,
    unicode: isUnicode(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG']),
    out: (text) => void stdout.write(forTerminal(text, hasColor)),
    bytes: (content) => void stdout.write(content),
    written: () =>
      new Promise((done, fail) => void stdout.write('', (error) => (error == null ? done() : fail(error)))),
    err: (text) => void stderr.write(forTerminal(hideSecrets(text), errorColor)),
    progressLine: (text) => void stderr.write(`\r\u001b[K${visibleText(text)}`),
    echo: (content) => void stderr.write(content),
  };
}

/** A locale without an encoding, or none at all (containers), counts as UTF-8, except `C` and `POSIX`. */
function isUnicode(locale: string | undefined): boolean {
  if (locale === undefined || locale === '') return true;
  const encoding = /\.([^@]+)/.exec(locale)?.[1];
  if (encoding === undefined) return locale !== 'C' && locale !== 'POSIX';
  return /^utf-?8$/i.test(encoding);
}
