/**
 * A history with one planted regression, bisected by the real git with our judge, and what came of it. Used by the
 * bench and by the tests; it knows the tool by its command line alone.
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BisectReportResult } from '../src/model/results/bisect.js';
import type { Suspect } from '../src/model/results/compare.js';

/** A git repository whose commits can be run, and what is true of them. */
export interface History {
  /** The checkout. */
  readonly directory: string;
  /** As `bisect run --on` takes it. */
  readonly criterion: string;
  /** Oldest first; the first is good, the last bad. */
  readonly commits: readonly { readonly sha: string; readonly isBad: boolean }[];
  readonly planted: {
    readonly sha: string;
    /** From the root of the superproject. */
    readonly file: string;
    /** The line that came in, or that follows where lines went. */
    readonly line: number;
    /** As `section.name`; null where no setting has to do with it. */
    readonly key: string | null;
  };
  /** What git is left with: the planted commit alone, or with commits that cannot be judged; oldest first. */
  readonly expectedSuspects: readonly string[];
  /** What `launch.sh` needs. */
  readonly environment: Readonly<Record<string, string>>;
  /** Writes the files of one launch of a commit, without a checkout. */
  train(sha: string, attempt: number, output: string): Promise<unknown>;
}

export interface Bisected {
  readonly report: BisectReportResult;
  /** Everything git printed. */
  readonly output: string;
  /** `first bad commit` as git names it; null where it is left with several. */
  readonly firstBad: string | null;
  /** What git was left with; empty where it found one. */
  readonly left: readonly string[];
  /** Commits judged bad that the regression is not in: none, ever. */
  readonly blamed: readonly string[];
  /** The same for good ones. */
  readonly cleared: readonly string[];
  /** Whether the first suspect is the planted hunk or setting. */
  readonly hasSuspect: boolean;
  readonly seconds: number;
}

export interface Tools {
  /** `main.js` of the tool. */
  readonly script: string;
  /** Launches of a commit while it cannot be judged. */
  readonly runs?: number;
  readonly goldenRuns?: number;
}

/** With its files in `directory`, which must exist. Rejects where a process fails that should not. */
export async function bisectPlanted(directory: string, history: History, tools: Tools): Promise<Bisected> {
  const began = Date.now();
  const { runs = 3, goldenRuns = 3 } = tools;
  const [good, bad] = [history.commits[0]!.sha, history.commits.at(-1)!.sha];
  const environment = {
    ...process.env,
    ...history.environment,
    XDG_CACHE_HOME: join(directory, 'cache'),
    MBF_DB: '',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
  };
  const run = (command: string, args: readonly string[]) => start(command, args, history.directory, environment);
  const must = async (command: string, args: readonly string[]): Promise<string> => {
    const { status, text } = await run(command, args);
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${text}`);
    return text;
  };
  const db = join(directory, 'golden.duckdb');
  for (let attempt = 1; attempt <= goldenRuns; attempt += 1) {
    const output = join(directory, `golden-${attempt}`);
    mkdirSync(output);
    await history.train(good, 100 + attempt, output);
    await must(process.execPath, [tools.script, 'golden', 'add', output, '--name', 'good', '--db', db]);
  }
  const golden = join(directory, 'golden.json');
  await must(process.execPath, [tools.script, 'golden', 'export', golden, '--name', 'good', '--db', db]);
  await must('git', ['checkout', '--quiet', '--detach', bad]);
  await must('git', ['-c', 'protocol.file.allow=always', 'submodule', 'update', '--init', '--quiet']);
  await must('git', ['bisect', 'start', bad, good]);
  // As seen from the checkout.
  const judge = [
    'bisect',
    'run',
    '--golden',
    '../golden.json',
    '--on',
    history.criterion,
    '--runs',
    String(runs),
    '--quiet',
  ];
  const { text } = await run('git', ['bisect', 'run', process.execPath, tools.script, ...judge, '--', './launch.sh']);
  const report = JSON.parse(
    await must(process.execPath, [tools.script, 'bisect', 'report', '--json=full']),
  ) as BisectReportResult;
  const log = await must('git', ['bisect', 'log']);
  const first = /^# first bad commit: \[([0-9a-f]+)\]/m.exec(log)?.[1] ?? null;
  const worse = new Set(history.commits.filter(({ isBad }) => isBad).map(({ sha }) => sha));
  return {
    report,
    output: text,
    firstBad: first,
    left: [...log.matchAll(/^# possible first bad commit: \[([0-9a-f]+)\]/gm)].map(([, sha]) => sha!),
    blamed: report.steps.filter(({ sha, judgement }) => judgement === 'bad' && !worse.has(sha)).map(({ sha }) => sha),
    cleared: report.steps.filter(({ sha, judgement }) => judgement === 'good' && worse.has(sha)).map(({ sha }) => sha),
    hasSuspect: isPlanted(report.suspects[0], history),
    seconds: (Date.now() - began) / 1000,
  };
}

/** The hunk that holds the planted line, or the planted setting. */
export function isPlanted(suspect: Suspect | undefined, { planted }: History): boolean {
  if (suspect === undefined) return false;
  const lastPart = (key: string): string => key.split('.').at(-1)!;
  if (suspect.key !== undefined && planted.key !== null && lastPart(suspect.key) === lastPart(planted.key)) return true;
  if (suspect.file !== planted.file) return false;
  const [, start = '', lines = '1'] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(suspect.hunk ?? '') ?? [];
  // Where lines went, git names the one before.
  return planted.line >= Number(start) - 1 && planted.line <= Number(start) + Math.max(1, Number(lines));
}

function start(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly status: number | null; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
    child.stderr.setEncoding('utf8').on('data', (more: string) => {
      errors += more;
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, text: status === 0 ? text : text + errors }));
  });
}
