import { existsSync } from 'node:fs';
import { earliestTorch } from '../../../../parsers/index.js';
import { type DiffLimits, noSnapshotDiff } from '../../../findings/diff/describe-diff.js';
import { listCandidates } from '../../../findings/diff/side.js';
import { runDiff } from '../../../findings/flows/run-diff.js';
import { diffSnapshots } from '../../../findings/flows/snapshot-diff.js';
import { MOMENT_FORMS, parseMoment } from '../../../findings/trace/moment.js';
import { openRepository, type Repository } from '../../../git/repository.js';
import { resolveRevision } from '../../../git/resolve-revision.js';
import { MbfError } from '../../../model/errors.js';
import type { DiffResult } from '../../../model/results/diff.js';
import { wordedCheck } from '../../../report/compare/check-reason.js';
import { diffText } from '../../../report/compare/diff-text.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { countOrAll, digits, flag, MARKDOWN, operand, option, STEP_RANGE, wholeSize } from '../../options.js';
import type { Session } from '../../session.js';

const NOTHING_GROWN = { components: [], sites: [], totalDeltaBytes: null };

export const verb = defineVerb({
  name: 'diff',
  operands: {
    a: operand('<a>', 'before: a handle, a run, a commit, or a path'),
    b: operand('<b>', 'after'),
  },
  options: {
    at: option('--at <moment>', `the moment to compare: ${MOMENT_FORMS}`, parseMoment, 'peak'),
    atA: option('--at-a <moment>', 'another moment of a', parseMoment),
    atB: option('--at-b <moment>', 'another moment of b', parseMoment),
    matchStep: flag('--match-step', 'compare the last profiler step that both have whole'),
    rank: option('--rank <n>', 'the rank to compare; default: the first that both have', digits(9, 'a number')),
    allRanks: flag('--all-ranks', 'totals of every rank that both have, too'),
    device: option(
      '--device <n>',
      'the device to compare; default: one that ran out of memory, else the one with a trace and the most',
      digits(9, 'a number'),
    ),
    sites: option('--limit <n>', 'call sites to show; 0 = all', countOrAll, '12'),
    minBytes: option('--min <bytes>', 'leave out sites that changed by less, such as 1MiB', wholeSize),
    maxGrowth: option('--max-growth <bytes or %>', 'growth that is allowed, such as 512MiB or 5%', growth),
    repo: option(
      '--repo <dir>',
      'the repository of both commits: names the hunks and settings that may be why; a and b may be revisions',
    ),
    stepRange: STEP_RANGE,
    markdown: MARKDOWN,
    exitCode: flag('--exit-code', 'exit with 1 if b has more active bytes than a, or than --max-growth allows'),
  },
  examples: [
    'diff before.pickle after.pickle',
    'diff golden night-shift --rank 3 --at step:7',
    'diff 1f3c9aa 77d0e1b --all-ranks --json',
    'diff main~12 main --repo ~/src/Megatron-Bridge',
    'diff snapshot_0.pickle snapshot_0.pickle --at-a step:2 --at-b step:9',
    'diff golden night-shift --max-growth 2% --exit-code',
    'diff before.pickle after.pickle --markdown -',
  ],
  async ask({ a, b, at, atA, atB, matchStep, rank, allRanks, device, sites, repo, stepRange, ...given }, session) {
    const maxGrowth = given.maxGrowth ?? (given.exitCode ? { bytes: 0 } : undefined);
    const limits: DiffLimits = { sites, minBytes: given.minBytes ?? 0, maxGrowth };
    if (matchStep && (atA ?? atB) !== undefined)
      throw new MbfError(
        'MBF1001',
        '--match-step finds the moment of both sides; it goes with neither --at-a nor --at-b',
      );
    const moments = [atA ?? at, atB ?? at] as const;
    const repository = repo === undefined ? undefined : () => openRepository(repo, session.context.env);
    const targets = await session.two([
      await revisionIn(a, repository, session),
      await revisionIn(b, repository, session),
    ]);
    const read = (side: 0 | 1) =>
      targets.use(side, async (target) => {
        session.note(target);
        return { run: target.run, found: await listCandidates(target.store, target.runId, target.handle) };
      });
    const candidates = [await read(0), await read(1)] as const;
    const without = candidates
      .filter(({ found }) => found.length === 0)
      .map(({ run }) => `run ${run} has no memory snapshot`);
    const question = { limits, moments, rank, device, matchStep, allRanks, earliestTorch };
    const { snapshots, grown } =
      without.length > 0
        ? { snapshots: noSnapshotDiff(candidates[0].run, candidates[1].run, without), grown: NOTHING_GROWN }
        : await diffSnapshots(targets, [a, b], candidates, question);
    const died = snapshots.a_info !== null && snapshots.a_info.ooms + snapshots.b_info.ooms > 0;
    const atPeaks = !matchStep && moments.every(({ kind }) => kind === 'peak');
    const runs = await runDiff(targets, died && atPeaks ? undefined : grown, await repository?.(), stepRange);
    if (without.length === 2 && runs.checks.every(({ status }) => status === 'skipped'))
      throw new MbfError('MBF1002', `${without.join(', ')}, and nothing else that could be compared`);
    return {
      schema: 'mbforensics/diff@1',
      ...snapshots,
      ...runs,
      checks: runs.checks.map(wordedCheck),
    } satisfies DiffResult as DiffResult;
  },
  render: diffText,
  reports: {
    markdown: async (result) => (await import('../../../report/compare/diff-markdown.js')).diffMarkdown(result),
  },
  exitCode: ({ gate }, { exitCode }) => (exitCode && gate?.exceeded === true ? EXIT.finding : EXIT.done),
});

/** With a repository, an operand that is nothing else is its revision: `main~3` becomes `commit:<sha>`. */
async function revisionIn(
  operand: string,
  repository: (() => Promise<Repository>) | undefined,
  session: Session,
): Promise<string> {
  if (repository === undefined || existsSync(operand) || /^(?:run|snapshot|label|path):/.test(operand)) return operand;
  const { openTarget } = await import('../../target.js');
  try {
    await (await openTarget(operand, session.common, session.context)).close();
    return operand;
  } catch (error) {
    if (!(error instanceof MbfError) || (error.code !== 'MBF1002' && error.code !== 'MBF1003')) throw error;
    const revision = operand.replace(/^commit:/, '');
    const sha = await resolveRevision(await repository(), revision).catch(() => undefined);
    if (sha === undefined) throw error;
    return `commit:${sha}`;
  }
}

/** `5%`, or a size. */
function growth(text: string, name: string): NonNullable<DiffLimits['maxGrowth']> {
  const percent = /^\s*(\d+(?:\.\d+)?)\s*%\s*$/.exec(text);
  return percent === null ? { bytes: wholeSize(text, name) } : { share: Number(percent[1]) / 100 };
}
