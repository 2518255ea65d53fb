/**
 * The command line as a user has it, built from the sources under test. Questions go to one process that stays, and
 * runs `main.js` with the same arguments, directory and environment (`warm-cli.mjs`); `every-verb.test.ts` starts a
 * process for each verb.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { VERB_HELP } from '../../src/cli/verb-help.js';
import { sharedBuild } from '../store/scratch.js';
import { runWarm } from './warm-process.js';

/** The words that call a verb: `log memory` for the verb `memory`, which is a part of `log`. */
export function wordsOf(verb: string): string[] {
  return (VERB_HELP[verb]?.called ?? verb).split(' ');
}

export interface Answer {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as JSON; throws if it is none. */
  json<T>(): T;
}

export interface RunOptions {
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly input?: string | undefined;
}

export interface Cli {
  readonly script: string;
  run(args: readonly string[], options?: RunOptions): Answer;
  /** The same, failing loudly unless the exit code is `status`. */
  expect(status: number, args: readonly string[], options?: RunOptions): Answer;
}

/** The command line of the sources under test, compiled once. */
export const buildCli = (): Cli => warmCliOf(join(sharedBuild(), 'src', 'cli', 'main.js'));

/** Every question to the process that stays, but those that need one of their own. */
export function warmCliOf(script: string): Cli {
  return asCli(script, (args, options) => (needsProcess(args, options) ? spawned : warm)(script, args, options));
}

/** Every question a process of its own. */
export function cliOf(script: string): Cli {
  return asCli(script, (...question) => spawned(script, ...question));
}

function asCli(script: string, run: (args: readonly string[], options: RunOptions) => Answer): Cli {
  return {
    script,
    run: (args, options = {}) => run(args, options),
    expect(status, args, options = {}) {
      const answer = run(args, options);
      if (answer.status !== status) {
        throw new Error(
          `mbforensics ${args.join(' ')} ended with ${answer.status}, not ${status}:\n${answer.stderr}${answer.stdout}`,
        );
      }
      return answer;
    },
  };
}

const verbOf = (args: readonly string[]): string => args.find((arg) => !arg.startsWith('-')) ?? '';

/** Read by Node, or by the C library, when a process begins. */
const READ_AT_START = /^(?:NODE_|TZ$|LC_|LANG)/;

/** Standard input can be read once; `bisect` starts processes of its own, and takes their signals. */
function needsProcess(args: readonly string[], { input, env = {} }: RunOptions): boolean {
  const usesInput = input !== undefined || args.includes('-');
  return usesInput || verbOf(args) === 'bisect' || Object.keys(env).some((name) => READ_AT_START.test(name));
}

function warm(script: string, args: readonly string[], { cwd = process.cwd(), env }: RunOptions): Answer {
  const answer = runWarm({ script, args, cwd, env: environment(env) });
  return { ...answer, json: <T>() => JSON.parse(answer.stdout) as T };
}

function spawned(script: string, args: readonly string[], options: RunOptions): Answer {
  const result = spawnSync(process.execPath, [script, ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    cwd: options.cwd,
    env: environment(options.env),
    ...(options.input === undefined ? {} : { input: options.input }),
  });
  return answerOf(result);
}

/** The environment of the tests must not leak in, for example a store named by the user who runs them. */
export function environment(changes: RunOptions['env'] = {}): Record<string, string> {
  const { MBF_DB: _, XDG_CACHE_HOME: __, ...rest } = process.env;
  const merged = { ...rest, LC_ALL: 'C.UTF-8', TZ: 'UTC', ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function answerOf(result: SpawnSyncReturns<string>): Answer {
  const { status, stdout, stderr } = result;
  return { status, stdout, stderr, json: <T>() => JSON.parse(stdout) as T };
}
