/** Launches, ingests, measures and judges the commit that is checked out, up to a number of times. */
import { mkdirSync, readdirSync } from 'node:fs';
import { cp, mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PARSERS } from '../../../parsers/index.js';
import type { Criterion } from '../../forensics/bisect/criterion.js';
import { type CommitJudgement, judgeCommit } from '../../forensics/bisect/judge-commit.js';
import type { Tolerances } from '../../forensics/compare/tolerances.js';
import { measureRun } from '../../forensics/measure/measure-run.js';
import { readCommit } from '../../git/commits.js';
import type { Repository } from '../../git/repository.js';
import { submodulesOffPin } from '../../git/submodules-off-pin.js';
import { ingest } from '../../ingest/ingest.js';
import { MbfError } from '../../model/errors.js';
import type { CommitInfo } from '../../model/git.js';
import type { Measurement } from '../../model/measurement.js';
import type { Context } from '../context.js';
import type { MeasuredRuns } from '../golden-operand.js';
import { INGEST_RESOURCES } from '../path-store.js';
import { storeToOpen } from '../store-to-open.js';
import { type LaunchEnd, launch } from './launch.js';
import { runDirectory, type Session } from './session.js';

export interface HeadOptions {
  readonly repository: Repository;
  readonly session: Session;
  readonly db: string;
  readonly command: readonly string[];
  readonly criterion: Criterion;
  readonly golden: MeasuredRuns;
  readonly hunted: Measurement | null;
  readonly tolerances: Tolerances;
  readonly mostRuns: number;
  readonly timeoutMs: number | undefined;
  /** Folder into which the command itself writes; what it changed there is collected. */
  readonly output: string | undefined;
  readonly quiet: boolean;
}

export interface HeadJudgement extends CommitJudgement {
  readonly commit: CommitInfo;
  /** Names of the runs in the store. */
  readonly runs: readonly string[];
}

export async function judgeHead(options: HeadOptions, context: Context): Promise<HeadJudgement> {
  const { repository, criterion, golden, hunted, tolerances, mostRuns } = options;
  const commit = await readCommit(repository, 'HEAD');
  // Golden values that cannot judge are found out before hours of training.
  judgeCommit({ criterion, golden: golden.runs, goldenName: golden.name, runs: golden.runs, hunted, tolerances });
  const runs: Measurement[] = [];
  const endings: string[] = [];
  let judged: CommitJudgement | undefined;
  for (let attempt = 1; attempt <= mostRuns; attempt += 1) {
    const { measurement, problem } = await oneRun(options, commit, attempt, context);
    if (measurement !== undefined) runs.push(measurement);
    if (problem !== undefined) endings.push(problem);
    judged =
      runs.length === 0
        ? { judgement: 'skip', reason: endings.at(-1)!, evidence: [], checks: [] }
        : withProblem(
            judgeCommit({ criterion, golden: golden.runs, goldenName: golden.name, runs, hunted, tolerances }),
            endings.at(-1),
          );
    if (judged.judgement !== 'skip') break;
    if (attempt < mostRuns) context.err(`run ${attempt} of ${mostRuns} cannot tell: ${judged.reason}\n`);
  }
  return { ...judged!, commit, runs: runs.map(({ run }) => run) };
}

/** A launch that failed, and whose output does not say why, is no good run whatever its figures are. */
function withProblem(judged: CommitJudgement, problem: string | undefined): CommitJudgement {
  if (problem === undefined || judged.judgement === 'bad') return judged;
  const reason = judged.judgement === 'good' ? problem : `${judged.reason}; ${problem}`;
  return { ...judged, judgement: 'skip', reason, evidence: [...judged.evidence, { text: problem, source: 'launch' }] };
}

async function oneRun(
  options: HeadOptions,
  commit: CommitInfo,
  attempt: number,
  context: Context,
): Promise<{ readonly measurement?: Measurement; readonly problem?: string }> {
  const { repository, session, db, command, timeoutMs, output, quiet } = options;
  const directory = await runDirectory(session, commit.sha, attempt);
  const own = join(directory, 'output');
  mkdirSync(own);
  const started = Date.now();
  const end = await launch({
    command,
    output: own,
    log: join(directory, 'launch.log'),
    sha: commit.sha,
    attempt,
    timeoutMs,
    echo: quiet ? () => {} : (text) => void process.stderr.write(text),
  });
  const [off] = await submodulesOffPin(repository);
  if (off !== undefined)
    throw new MbfError(
      'MBF1011',
      `${off.path} is at ${off.checked_out.slice(0, 12)}, and ${commit.sha.slice(0, 12)} pins ${off.pinned.slice(0, 12)}`,
    );
  if (output !== undefined) await collect(resolve(output), own, started);
  // A commit may be judged again: its runs then are others, and the store keeps both.
  const run = `${commit.sha.slice(0, 12)}-${attempt}-${started.toString(36)}`;
  const store = storeToOpen(db, { mode: 'write', ...INGEST_RESOURCES });
  try {
    const result = await ingest({
      store,
      parsers: PARSERS,
      paths: [directory],
      run,
      commit: commit.sha,
      now: new Date(),
    });
    const usable = result.sources.some(({ status }) => status === 'ingested' || status === 'unchanged');
    const problem = problemOf(end, timeoutMs);
    if (!usable)
      return { problem: `its output holds nothing that can be read${problem === undefined ? '' : `; ${problem}`}` };
    const opened = await store.open();
    const [row] = (await opened.all('store.runs', { run_id: null })).filter(({ name }) => name === run);
    if (row === undefined) throw new Error(`run ${run} was ingested and is not in ${db}`);
    const measurement = await measureRun(opened, row.run_id, run);
    if (context.debug) context.err(`${JSON.stringify(measurement.status)}\n`);
    return { measurement, ...(problem === undefined || tellsWhy(measurement) ? {} : { problem }) };
  } finally {
    await store.close();
  }
}

/** Whether the run's own output says how it failed: then that counts. */
const tellsWhy = ({ status }: Measurement): boolean => status.ending === 'oom' || status.ending === 'failed';

function problemOf({ code, signal, timedOut }: LaunchEnd, timeoutMs: number | undefined): string | undefined {
  if (timedOut) return `the launch did not end within ${Math.round((timeoutMs ?? 0) / 1000)} s`;
  if (signal !== null) return `the launch was ended by ${signal}`;
  return code === 0 ? undefined : `the launch ended with ${code}`;
}

/** Copies what was written since the launch began. */
async function collect(from: string, to: string, since: number): Promise<void> {
  const root = await stat(from).catch(() => undefined);
  if (root?.isDirectory() !== true) return;
  for (const entry of readdirSync(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Clocks of file systems are coarse.
    if ((await stat(path)).mtimeMs < since - 2_000) continue;
    const target = join(to, path.slice(from.length));
    await mkdir(join(target, '..'), { recursive: true });
    await cp(path, target);
  }
}
