/** The command line as a user has it: a process of its own, built from the sources under test. */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { sharedBuild } from '../store/scratch.js';

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

/** The command line of the sources under test, compiled once for all test files of a run. */
export function buildCli(): Cli {
  return cliOf(join(sharedBuild(), 'src', 'cli', 'main.js'));
}

export function cliOf(script: string): Cli {
  const run = (args: readonly string[], options: RunOptions = {}): Answer => {
    const result = spawnSync(process.execPath, [script, ...args], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      cwd: options.cwd,
      env: environment(options.env),
      ...(options.input === undefined ? {} : { input: options.input }),
    });
    return answerOf(result);
  };
  return {
    script,
    run,
    expect(status, args, options) {
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

/** The tests' own environment must not leak in: a store named by the person who runs them, say. */
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
