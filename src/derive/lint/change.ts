/** A change of a configuration, and its outcome under the rules. */
import type { AdviceChange } from '../../model/results/advise.js';
import type { LintFinding, LintUnknown } from '../../model/results/lint.js';
import { VERSION_NAMES } from '../../model/results/log.js';
import { changedFacts } from '../settings/changed-facts.js';
import type { RawFacts } from '../settings/facts.js';
import { lint } from './lint.js';
import { lintRules } from './rules.js';

export const NO_CHANGE: AdviceChange = { settings: {}, env: {} };

/** All of them; the later one wins. */
export function joinChanges(changes: readonly AdviceChange[]): AdviceChange {
  return changes.reduce(
    (all, { settings, env }) => ({ settings: { ...all.settings, ...settings }, env: { ...all.env, ...env } }),
    NO_CHANGE,
  );
}

const ERROR_RULES = lintRules().filter(({ severity }) => severity === 'error');

export interface Judgement {
  /** Error rules that the change breaks and that hold without it. */
  readonly broken: readonly LintFinding[];
  /** Error rules that are undecided with the change, and decided without it or undecided for more reasons. */
  readonly undecided: readonly LintUnknown[];
  /** Those of them that ask for settings that are unknown. Not an argument against the change, but reported. */
  readonly unchecked: readonly LintUnknown[];
  /**
   * Those of them that only some past versions have, where the version is unknown. A newer version is assumed, and that
   * is reported.
   */
  readonly assumed: readonly LintUnknown[];
}

/** Rules that came and went again. */
const PASSED = new Set(
  ERROR_RULES.filter(({ versions = [] }) =>
    versions.some(({ from, before }) => from !== undefined && before !== undefined),
  ).map(({ id }) => id),
);

/** Judges changes of one configuration. */
export class ChangeJudge {
  readonly facts: RawFacts;
  private readonly brokenBefore: ReadonlySet<string>;
  private readonly needsBefore: ReadonlyMap<string, number>;

  constructor(facts: RawFacts) {
    this.facts = facts;
    const { findings, unknown } = lint(facts, ERROR_RULES);
    this.brokenBefore = new Set(findings.map(({ rule }) => rule));
    this.needsBefore = new Map(unknown.map(({ rule, needs }) => [rule, needs.length]));
  }

  judge(change: AdviceChange): Judgement {
    const { findings, unknown } = lint(changedFacts(this.facts, change), ERROR_RULES);
    // What was undecided before for as many reasons is not an argument against an unrelated change.
    const open = unknown.filter(
      ({ rule, needs }) =>
        !this.brokenBefore.has(rule) && needs.length < (this.needsBefore.get(rule) ?? Number.POSITIVE_INFINITY),
    );
    return {
      broken: findings.filter(({ rule }) => !this.brokenBefore.has(rule)),
      undecided: open.filter((one) => !asksForSettings(one) && !isPassed(one)),
      unchecked: open.filter(asksForSettings),
      assumed: open.filter((one) => !asksForSettings(one) && isPassed(one)),
    };
  }
}

/** Versions, the device, the framework and variables are of the place where it runs; settings are the user's. */
function asksForSettings({ needs }: LintUnknown): boolean {
  return needs.some((key) => !PLACE.has(key) && !/^[A-Z][A-Z0-9_]*$/.test(key));
}

const PLACE: ReadonlySet<string> = new Set([...VERSION_NAMES, 'device', 'framework']);

/** Only a version is missing, of a rule that came and went. */
function isPassed({ rule, needs }: LintUnknown): boolean {
  return PASSED.has(rule) && needs.length > 0 && needs.every((key) => PLACE.has(key));
}
