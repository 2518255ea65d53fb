/** The cheapest changes that together cover the shortfall. */

import { joinChanges } from '../../derive/lint/change.js';
import type { AdviceChange, AdvicePlan } from '../../model/results/advise.js';
import { sentencesOf, type Unworded } from '../../model/statement.js';

/** A fix that may be part of a plan. */
export interface Candidate {
  readonly id: string;
  /** Fixes of one family exclude each other: fractions of one offload, sizes of one cut. */
  readonly family: string;
  readonly order: number;
  readonly change: AdviceChange;
  readonly saving_bytes: number | null;
  readonly closes: boolean | null;
  readonly cost_percent: number | null;
  /** Someone has to look at the loss. */
  readonly numerics: boolean;
  readonly needsGpus: boolean;
  /** It carries out a step that the verdict names. */
  readonly isAnswer: boolean;
}

export type Plan = Unworded<Omit<AdvicePlan, 'paste'>, 'text'>;

export interface PlanQuestion {
  /** Null: unknown. */
  readonly needBytes: number | null;
  readonly candidates: readonly Candidate[];
  /** What a joint change saves by the estimator; null where it does not know. */
  estimate(change: AdviceChange): number | null;
  /** Whether the step fits after a joint change that saves so much; null where not known. */
  closes(change: AdviceChange, savingBytes: number): boolean | null;
  /** Whether the rules allow a joint change. */
  allows(change: AdviceChange): boolean;
}

/**
 * Points that rank plans, one for each percent of throughput, never shown: an unknown cost, and another change to
 * make.
 */
const UNKNOWN_COST = 10;
const CHANGE_COST = 2;
/** Points of changes together: one that is not known to be enough is tried before such a plan. */
const MOST_COST = 50;
/** More changes at once than a user would try. */
const MOST_FIXES = 3;
/** Cheapest choices that are estimated and checked against the rules, which takes milliseconds each. */
const MOST_TRIED = 100;

interface Choice {
  readonly of: readonly Candidate[];
  readonly cost: number;
  readonly order: number;
}

/**
 * The first that there is: what the verdict itself names, the cheapest that is enough, several that are, what serves
 * the request that failed, and at last what changes results. Null where nothing allowed is known to help enough.
 */
export function planOf(question: PlanQuestion): Plan | null {
  const { needBytes, candidates } = question;
  const onSame = candidates.filter(({ needsGpus }) => !needsGpus);
  const single = (of: readonly Candidate[]): Choice | undefined => of.map((one) => choice([one])).sort(cheaper)[0];
  const answers = onSame.filter(({ isAnswer, closes }) => isAnswer && closes !== false);
  const enough = [
    ...onSame.filter(({ closes }) => closes === true).map((one) => choice([one])),
    // A joint change rarely saves more than its parts do one by one.
    ...(needBytes === null
      ? []
      : combinations(onSame.filter(({ saving_bytes: bytes, closes }) => (bytes ?? 0) > 0 && closes !== true)).filter(
          ({ of, cost }) => cost <= MOST_COST && sumOf(of) >= needBytes,
        )),
  ].sort(cheaper);
  const sufficient = (choices: readonly Choice[]): Choice | undefined =>
    choices.slice(0, MOST_TRIED).find(({ of }) => of.length === 1 || closesTogether(question, of));
  const rounds = ({ of }: Choice): boolean => of.some(({ numerics }) => numerics);
  const chosen =
    single(answers.filter(({ closes }) => closes === true)) ??
    single(answers) ??
    sufficient(enough.filter((one) => !rounds(one))) ??
    single(candidates.filter(({ closes, needsGpus, numerics }) => closes === true && needsGpus && !numerics)) ??
    single(
      onSame.filter(
        ({ closes, saving_bytes: bytes, numerics }) =>
          closes === null && needBytes !== null && (bytes ?? 0) >= needBytes && !numerics,
      ),
    ) ??
    // What changes results is the last resort, even where it is known to be enough.
    sufficient(enough.filter(rounds));
  return chosen === undefined ? null : describe(question, chosen.of);
}

function choice(of: readonly Candidate[]): Choice {
  return {
    of,
    cost: of.reduce((sum, { cost_percent: percent }) => sum + Math.max(0, percent ?? UNKNOWN_COST) + CHANGE_COST, 0),
    order: of.reduce((sum, { order }) => sum + order, 0),
  };
}

/** Fewer changes first where the cost is the same, then those the guides try first. */
function cheaper(a: Choice, b: Choice): number {
  return a.cost - b.cost || a.of.length - b.of.length || a.order - b.order;
}

function sumOf(of: readonly Candidate[]): number {
  return of.reduce((sum, { saving_bytes: bytes }) => sum + (bytes ?? 0), 0);
}

function combinations(candidates: readonly Candidate[]): Choice[] {
  const choices: Choice[] = [];
  const extend = (taken: readonly Candidate[], from: number): void => {
    if (taken.length > 1) choices.push(choice(taken));
    if (taken.length === MOST_FIXES) return;
    for (let i = from; i < candidates.length; i += 1) {
      const next = candidates[i]!;
      if (taken.every((one) => one.family !== next.family && agree(one.change, next.change)))
        extend([...taken, next], i + 1);
    }
  };
  extend([], 0);
  return choices;
}

/** Changes that set one key to two values exclude each other. */
function agree(a: AdviceChange, b: AdviceChange): boolean {
  const sameSettings = (x: AdviceChange['settings'], y: AdviceChange['settings']): boolean =>
    Object.entries(x).every(([key, value]) => !(key in y) || y[key] === value);
  return sameSettings(a.settings, b.settings) && sameSettings(a.env, b.env);
}

function jointSaving(question: PlanQuestion, of: readonly Candidate[]): number {
  const joint = question.estimate(joinChanges(of.map(({ change }) => change)));
  return joint === null ? sumOf(of) : Math.min(joint, sumOf(of));
}

function closesTogether(question: PlanQuestion, of: readonly Candidate[]): boolean {
  const change = joinChanges(of.map((one) => one.change));
  return question.allows(change) && question.closes(change, jointSaving(question, of)) === true;
}

function describe(question: PlanQuestion, of: readonly Candidate[]): Plan {
  const saving = of.length === 1 ? of[0]!.saving_bytes : jointSaving(question, of);
  const kept = of.reduce<number | null>(
    (rest, { cost_percent: percent }) => (rest === null || percent === null ? null : rest * (1 - percent / 100)),
    1,
  );
  const cost = kept === null ? null : Math.round(1000 * (1 - kept)) / 10;
  const [only] = of;
  return {
    fixes: of.map(({ id }) => id),
    saving_bytes: saving,
    closes: of.length === 1 ? only!.closes : true,
    cost_percent: cost,
    text: sentencesOf('advice', 'figures')('plan', {
      ...(of.length === 1 ? { enough: only!.closes === true } : { changes: of.length }),
      ...{ saving_bytes: saving, need_bytes: question.needBytes },
    }),
    change: joinChanges(of.map(({ change }) => change)),
  };
}
