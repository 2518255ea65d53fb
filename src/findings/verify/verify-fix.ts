/**
 * `mbforensics verify-fix`: whether a change took effect, what it saved and cost against what was expected, and what
 * limits the run now. Pure.
 */

import { EXPLAINED_BY } from '../../derive/settings/follows.js';
import { MbfError } from '../../model/errors.js';
import { groupBy } from '../../model/group-by.js';
import { pick } from '../../model/pick.js';
import type { ContractEntry } from '../../model/results/compare.js';
import type { Text } from '../../model/statement.js';
import { changedConfig, changedEnv } from '../measure/changed-values.js';
import { sameLayout } from '../measure/contract.js';
import { type CauseEffect, effectOnCause } from '../settings/cause-effect.js';
import { bottleneckOf } from './bottleneck.js';
import { type FoundChange, findChanges } from './changes.js';
import { effectOf } from './effects/index.js';
import { judge } from './judge.js';
import { type FixMatch, matchFixes, nonFixOf } from './match-fix.js';
import { measure, type NoiseRule, throughputLost } from './measured.js';
import { describeRun } from './run-words.js';
import { type AdviceBefore, furthestPhase, type Side } from './side.js';
import type {
  AdviceFix,
  VerifyChange,
  VerifyExpected,
  VerifyFixResult,
  VerifyJudgement,
  VerifyRun,
} from './unworded.js';
import { textOf } from './values.js';
import { verdictOf } from './verdict.js';

export interface VerifyInput {
  readonly before: Side;
  readonly after: Side;
  readonly advice: AdviceBefore;
  /** Id of a fix to hold the change against, where the user names one. */
  readonly fix?: string | undefined;
  readonly contract: readonly ContractEntry[];
  /** Of step times. */
  readonly noise: NoiseRule;
}

export function verifyFix({ before, after, advice, fix, contract, noise }: VerifyInput): VerifyFixResult {
  const { fixes } = advice;
  const named = fix === undefined ? undefined : fixes.find(({ id }) => id === fix);
  if (fix !== undefined && named === undefined)
    throw new MbfError(
      'MBF1001',
      `invalid --fix ${JSON.stringify(fix)}; fixes of ${before.run}: ${fixes.map(({ id }) => id).join(', ') || 'none'}`,
    );
  const sameRun = before.place === after.place;
  const touched = new Set(fixes.flatMap(({ change }) => Object.keys(change.settings)));
  const foundChanges = findChanges(before, after, touched);
  const matches = matchFixes(fixes, foundChanges.changes, after);
  const described = describeChanges(foundChanges.changes, matches, { before, after, advice });
  const credited = creditOf(described, fixes);
  const [runBefore, runAfter] = [describeRun(before), describeRun(after)];
  const differing = contract.filter(({ same }) => !same);
  const unfair = unfairOf(differing, foundChanges.changes, new Set(matches.flatMap(({ keys }) => [...keys])));
  const measured = measure(before, after, noise);
  const sameWork = hasSameWork(contract);
  const expected = expectedOf(credited, matches, named?.id);
  const isAllocator = isAllocatorGain(credited, expected);
  const common = { measured, expectedCost: expected?.cost_percent ?? null, sameWork };
  const { verdict, summary } = verdictOf({
    ...common,
    before: runBefore,
    after: runAfter,
    changes: credited,
    unfair,
    sameRun,
    sameLayout: sameLayout(contract),
    phases: { before: furthestPhase(before), after: furthestPhase(after) },
  });
  // A change that made things worse has earned nothing.
  const hasGain = verdict === 'fixed' || verdict === 'progress';
  const changes = credited.map((change) => ({ ...change, credited: change.credited && hasGain }));
  return {
    schema: 'mbforensics/verify-fix@1',
    before: runBefore,
    after: runAfter,
    verdict,
    summary,
    changes,
    beside: foundChanges.otherChanges,
    expected,
    measured,
    judgement: [
      ...changeJudgements(changes, named, matches),
      ...(sameRun ? [] : judge({ before: runBefore, after: runAfter, expected, measured, isAllocator, sameWork })),
      ...(verdict === 'fixed' ? cheaperFix(fixes, changes, throughputLost(measured, sameWork)?.percent ?? null) : []),
    ],
    bottleneck: bottleneckOf({ ...common, before, after }),
    contract: differing.filter(({ key }) => !changes.some((change) => change.key === (SIZE_KEYS[key] ?? key))),
    unfair,
    missing: missingOf(foundChanges.missing, changes, runAfter),
  };
}

function describeChanges(
  changes: readonly FoundChange[],
  matches: readonly FixMatch[],
  { before, after, advice }: Pick<VerifyInput, 'before' | 'after' | 'advice'>,
): VerifyChange[] {
  const families = new Set(changes.map((change) => groupOf(change, matches)));
  const described = changes.map((change): VerifyChange => {
    const group = groupOf(change, matches);
    const match = matches.find(({ keys }) => keys.has(change.key));
    return {
      key: change.key,
      kind: change.kind,
      from: change.from,
      from_known: change.fromKnown,
      to: change.to,
      fix: match?.fix.id ?? null,
      fix_complete: match?.complete === true,
      non_fix: match?.complete === true ? null : (nonFixOf(advice.nonFixes, change)?.id ?? null),
      group,
      credited: false,
      on_cause: causeEffectOf(change, before, after)?.text ?? null,
      effect: effectOf({
        change,
        family: changes.filter((one) => one.family === change.family || groupOf(one, matches) === group),
        alone: families.size === 1,
        before,
        after,
      }),
    };
  });
  // As suspects are: what bears on the cause of the failure comes first.
  return described.toSorted((a, b) => Number(a.on_cause === null) - Number(b.on_cause === null));
}

/** By the failure of the run before, else of the run after; with the values that suspects are scored by. */
function causeEffectOf({ key, from, to }: FoundChange, before: Side, after: Side): CauseEffect | null {
  const [x, y] = [before.measurement, after.measurement];
  const cause = x.status.verdict?.cause ?? y.status.verdict?.cause;
  const change = [...changedConfig(x, y), ...changedEnv(x, y)].find((one) => one.key === key);
  return cause === undefined ? null : effectOnCause(change ?? { key, a: from, b: to }, cause);
}

/** A fix that was done whole is one change, however many settings it takes; else settings of one decision are. */
function groupOf({ key, family }: FoundChange, matches: readonly FixMatch[]): string {
  return matches.find(({ keys, complete }) => complete && keys.has(key))?.fix.id ?? family;
}

/** Differences that make figures mean something else, unless they are what was changed. */
function unfairOf(
  contract: readonly ContractEntry[],
  changes: readonly FoundChange[],
  ofFixes: ReadonlySet<string>,
): Text[] {
  const changed = new Set(changes.map(({ key }) => key));
  return contract.flatMap(({ group, key, golden, current, blocking }) => {
    if (!blocking || ofFixes.has(key)) return [];
    // Precision, and what follows from a change, are separate changes.
    if (group === 'precision' && changed.has(key)) return [];
    if ((EXPLAINED_BY[key] ?? []).some((source) => changed.has(source))) return [];
    return [textOf('differing', { key, golden, current })];
  });
}

/** Step times are of the same work for each GPU: same batch on as many. */
function hasSameWork(contract: readonly ContractEntry[]): boolean {
  return contract.every(
    ({ key, same }) => same || !['global_batch_size', 'seq_length', 'world_size', 'gpu'].includes(key),
  );
}

function expectedOf(
  changes: readonly VerifyChange[],
  matches: readonly FixMatch[],
  named: string | undefined,
): VerifyExpected | null {
  const completeMatches = matches.filter(({ complete }) => complete);
  const credited = new Set(changes.flatMap((change) => (change.credited && change.fix_complete ? [change.fix] : [])));
  const chosen =
    named !== undefined
      ? matches.find(({ fix }) => fix.id === named)
      : (completeMatches.find(({ fix }) => credited.has(fix.id)) ??
        (new Set(changes.map(({ group }) => group)).size === 1 ? completeMatches[0] : undefined));
  if (chosen === undefined) return null;
  const { fix } = chosen;
  return {
    fix: fix.id,
    ...pick(fix, ['title', 'saving_bytes', 'saving_by', 'saving_text', 'cost_percent', 'cost_text', 'closes']),
  };
}

/** The gain of an allocator setting is that the request is served, not that less is live. */
function isAllocatorGain(changes: readonly VerifyChange[], expected: VerifyExpected | null): boolean {
  const of = expected === null ? changes : changes.filter(({ fix }) => fix === expected.fix);
  return (
    of.length > 0 &&
    of.every(({ kind }) => kind === 'allocator' || kind === 'environment') &&
    of.some(({ kind }) => kind === 'allocator')
  );
}

function changeJudgements(
  changes: readonly VerifyChange[],
  named: { readonly id: string } | undefined,
  matches: readonly FixMatch[],
): VerifyJudgement[] {
  const foundChanges: VerifyJudgement[] = [];
  const namedMatch = named === undefined ? undefined : matches.find(({ fix }) => fix.id === named.id);
  if (named !== undefined && namedMatch?.complete !== true)
    foundChanges.push(note('not_done', { fix: named.id, partly: namedMatch !== undefined }));
  const groups = new Set(changes.map(({ group }) => group));
  if (groups.size > 1) {
    const keysOf = (list: readonly VerifyChange[]): string => list.map(({ key }) => key).join(', ');
    const credited = changes.filter((change) => change.credited);
    const figures = {
      groups: groups.size,
      keys: [...new Set(changes.map(({ key }) => key))].slice(0, 6).join(', '),
      credited: credited.length === 0 ? null : keysOf(credited),
      non_fix: changes.find((change) => !change.credited && change.non_fix !== null)?.key,
    };
    foundChanges.push(note('several_changes', figures));
  }
  return foundChanges;
}

const note = (code: string, figures: object): VerifyJudgement => ({
  about: 'change',
  outcome: 'note',
  text: textOf(code, figures),
});

/** Settings behind the short names of a layout. */
const SIZE_KEYS: Readonly<Record<string, string>> = {
  tp: 'tensor_model_parallel_size',
  pp: 'pipeline_model_parallel_size',
  vpp: 'virtual_pipeline_model_parallel_size',
  cp: 'context_parallel_size',
  ep: 'expert_model_parallel_size',
  etp: 'expert_tensor_parallel_size',
};

/** A fix that the advice knows to be enough and that costs less than what was done. */
function cheaperFix(
  fixes: readonly AdviceFix[],
  changes: readonly VerifyChange[],
  lost: number | null,
): VerifyJudgement[] {
  const done = new Set(changes.map(({ fix }) => fix));
  const cheaper = fixes
    .filter(
      ({ id, closes, status, cost_percent: cost }) =>
        closes === true && status !== 'forbidden' && cost !== null && !done.has(id),
    )
    .sort((a, b) => a.cost_percent! - b.cost_percent!)[0];
  if (cheaper === undefined || lost === null || lost - cheaper.cost_percent! < CHEAPER) return [];
  const { id, cost_percent: cost, saving_text: saving } = cheaper;
  return [note('cheaper', { fix: id, cost, saving })];
}

/** Percent of throughput that are worth another try. */
const CHEAPER = 2;

function missingOf(foundChanges: readonly Text[], changes: readonly VerifyChange[], after: VerifyRun): Text[] {
  return [
    ...foundChanges,
    ...new Map(
      changes.flatMap(({ key, effect: { outcome, needs } }) =>
        needs === null || outcome !== 'untested'
          ? []
          : [[JSON.stringify([key, needs]), textOf('in_force_unknown', { key, needs })] as const],
      ),
    ).values(),
    ...(after.ending === 'stopped' ? [textOf('end_unknown')] : []),
  ];
}

/**
 * The change that the gain is credited to. A single change that took effect gets the credit. Of several changes, one
 * gets it only if it alone serves the request that failed before and the others do not: a change made at the same time
 * is not the fix.
 */
export function creditOf(changes: readonly VerifyChange[], fixes: readonly AdviceFix[]): VerifyChange[] {
  const groups = groupBy(changes, ({ group }) => group);
  const possible = [...groups].filter(([, group]) =>
    group.some(({ effect: { outcome } }) => outcome === 'active' || outcome === 'partly'),
  );
  const closing = possible.filter(([, group]) =>
    group.some(
      ({ fix, fix_complete: whole }) => whole && fixes.some(({ id, closes }) => id === fix && closes === true),
    ),
  );
  const chosen = groups.size === 1 ? possible[0]?.[0] : closing.length === 1 ? closing[0]![0] : undefined;
  return changes.map((change) => ({ ...change, credited: chosen !== undefined && change.group === chosen }));
}
