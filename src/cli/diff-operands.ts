/** The difference of two operands: what `diff` answers, and what a page of two runs shows. */
import { existsSync } from 'node:fs';
import { earliestTorch } from '../../parsers/index.js';
import { noSnapshotDiff } from '../findings/diff/describe-diff.js';
import { listCandidates } from '../findings/diff/side.js';
import { runDiff } from '../findings/flows/run-diff.js';
import { diffSnapshots, type DiffQuestion as SnapshotQuestion } from '../findings/flows/snapshot-diff.js';
import { openRepository, type Repository } from '../git/repository.js';
import { resolveRevision } from '../git/resolve-revision.js';
import { MbfError } from '../model/errors.js';
import type { DiffResult } from '../model/results/diff.js';
import { wordedCheck } from '../report/compare/check-reason.js';
import { summaryText } from '../report/verdict/cause-words.js';
import { worded } from '../report/words/worded.js';
import type { Session } from './session.js';
import type { TwoTargets } from './two-targets.js';

const NOTHING_GROWN = { components: [], sites: [], totalDeltaBytes: null, activeBytes: null };

export type DiffQuestion = Omit<SnapshotQuestion, 'earliestTorch'> & {
  /** Directory of the repository of both commits. */
  readonly repo: string | undefined;
  readonly stepRange?: string | undefined;
};

/** `use` opens the operands again, as they were resolved. */
export async function diffOperands(
  operands: readonly [string, string],
  { repo, stepRange, ...given }: DiffQuestion,
  session: Session,
): Promise<{ readonly diff: DiffResult; readonly targets: TwoTargets }> {
  const repository = repo === undefined ? undefined : () => openRepository(repo, session.context.env);
  const targets = await session.two([
    await revisionIn(operands[0], repository, session),
    await revisionIn(operands[1], repository, session),
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
  const question = { ...given, earliestTorch };
  const { snapshots, grown } =
    without.length > 0
      ? { snapshots: noSnapshotDiff(candidates[0].run, candidates[1].run, without), grown: NOTHING_GROWN }
      : await diffSnapshots(targets, operands, candidates, question);
  const died = snapshots.a_info !== null && snapshots.a_info.ooms + snapshots.b_info.ooms > 0;
  const atPeaks = !given.matchStep && given.moments.every(({ kind }) => kind === 'peak');
  const known = died && atPeaks ? undefined : grown;
  const runs = await runDiff(targets, known, await repository?.(), stepRange, summaryText);
  if (without.length === 2 && runs.checks.every(({ status }) => status === 'skipped'))
    throw new MbfError('MBF1002', `${without.join(', ')}, and nothing else that could be compared`);
  const diff = {
    schema: 'mbforensics/diff@1',
    ...worded(snapshots),
    ...runs,
    suspects: worded(runs.suspects),
    nsys: worded(runs.nsys),
    checks: runs.checks.map(wordedCheck),
  } satisfies DiffResult as DiffResult;
  return { diff, targets };
}

/** With a repository, an operand that is nothing else is its revision: `main~3` becomes `commit:<sha>`. */
async function revisionIn(
  operand: string,
  repository: (() => Promise<Repository>) | undefined,
  session: Session,
): Promise<string> {
  if (repository === undefined || existsSync(operand) || /^(?:run|snapshot|label|path):/.test(operand)) return operand;
  const { openTarget } = await import('./target.js');
  try {
    await (await openTarget(operand, session.common, session.context)).close();
    return operand;
  } catch (error) {
    if (!(error instanceof MbfError) || (error.code !== 'MBF1002' && error.code !== 'MBF1003')) throw error;
    const revision = operand.replace(/^commit:/, '');
    try {
      return `commit:${await resolveRevision(await repository(), revision)}`;
    } catch (unresolved) {
      // A repository that cannot be read is another matter than a revision that it lacks.
      throw unresolved instanceof MbfError && unresolved.code === 'MBF2961' ? unresolved : error;
    }
  }
}
