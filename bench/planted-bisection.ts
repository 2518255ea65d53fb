/**
 * One generated repository with a planted regression, bisected by the real git with our judge, and what came of it. Used by the bench and by the
 * tests; it knows the tool by its command line alone.
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type BuiltRepository,
  buildRepository,
  checkOut,
  type RepositoryOptions,
} from '../samples/generate/repository/history/build-repository.js';
import { trainCommit } from '../samples/generate/repository/history/train-commit.js';
import type { BisectReportResult } from '../src/model/results/bisect.js';
import type { Suspect } from '../src/model/results/compare.js';

export interface Bisected {
  readonly repository: BuiltRepository;
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
  /** `trainer-main.js`, compiled. */
  readonly trainer: string;
  /** Launches of a commit while it cannot be judged. */
  readonly runs?: number;
  readonly goldenRuns?: number;
}

/** In `directory`, which must exist. Rejects where a process fails that should not. */
export async function bisectPlanted(directory: string, options: RepositoryOptions, tools: Tools): Promise<Bisected> {
  const began = Date.now();
  const { runs = 3, goldenRuns = 3 } = tools;
  const repository = await buildRepository(directory, options);
  const environment = {
    ...process.env,
    TRAINER: tools.trainer,
    XDG_CACHE_HOME: join(directory, 'cache'),
    MBF_DB: '',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
  };
  const run = (command: string, args: readonly string[]) => start(command, args, repository.directory, environment);
  const must = async (command: string, args: readonly string[]): Promise<string> => {
    const { status, text } = await run(command, args);
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${text}`);
    return text;
  };
  const db = join(directory, 'golden.duckdb');
  for (let attempt = 1; attempt <= goldenRuns; attempt += 1) {
    const output = join(directory, `golden-${attempt}`);
    mkdirSync(output);
    await trainCommit(repository, repository.good, 100 + attempt, output);
    await must(process.execPath, [tools.script, 'golden', 'add', output, '--name', 'good', '--db', db]);
  }
  const golden = join(directory, 'golden.json');
  await must(process.execPath, [tools.script, 'golden', 'export', golden, '--name', 'good', '--db', db]);
  await checkOut(repository, repository.bad);
  await must('git', ['bisect', 'start', repository.bad, repository.good]);
  // As seen from the checkout.
  const judge = [
    'bisect',
    'run',
    '--golden',
    join('..', 'golden.json'),
    '--on',
    criterionOf(repository),
    '--runs',
    String(runs),
    '--quiet',
  ];
  const { text } = await run('git', ['bisect', 'run', process.execPath, tools.script, ...judge, '--', './launch.sh']);
  const report = JSON.parse(
    await must(process.execPath, [tools.script, 'bisect', 'report', '--json']),
  ) as BisectReportResult;
  const log = await must('git', ['bisect', 'log']);
  const first = /^# first bad commit: \[([0-9a-f]+)\]/m.exec(log)?.[1] ?? null;
  const bad = new Set(repository.commits.filter(({ isBad }) => isBad).map(({ sha }) => sha));
  return {
    repository,
    report,
    output: text,
    firstBad: first,
    left: [...log.matchAll(/^# possible first bad commit: \[([0-9a-f]+)\]/gm)].map(([, sha]) => sha!),
    blamed: report.steps.filter(({ sha, judgement }) => judgement === 'bad' && !bad.has(sha)).map(({ sha }) => sha),
    cleared: report.steps.filter(({ sha, judgement }) => judgement === 'good' && bad.has(sha)).map(({ sha }) => sha),
    hasSuspect: isPlanted(report.suspects[0], repository),
    seconds: (Date.now() - began) / 1000,
  };
}

export function criterionOf({ kind, planted }: BuiltRepository): string {
  return kind === 'component' ? `component:${planted.component}` : kind;
}

/** The hunk that holds the planted line, or the planted setting. */
export function isPlanted(suspect: Suspect | undefined, { planted }: BuiltRepository): boolean {
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
