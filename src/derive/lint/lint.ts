/** Rules tried on a configuration. Pure: no file is opened and no store asked. */
import { getOrAdd } from '../../model/group-by.js';
import type { LintFact, LintFinding, LintProof, LintUnknown } from '../../model/results/lint.js';
import { LINT_SEVERITIES } from '../../model/results/lint.js';
import { all, before, type Condition, type Outcome, since } from '../settings/condition.js';
import type { Looked, RawFacts } from '../settings/facts.js';
import { View } from '../settings/view.js';
import type { LintRule, Severity } from './rule.js';
import { lintRules } from './rules.js';

export interface Linted {
  readonly findings: readonly LintFinding[];
  readonly unknown: readonly LintUnknown[];
}

/** Findings in the order of their severity, then of the rules. */
export function lint(facts: RawFacts, rules: readonly LintRule[] = lintRules()): Linted {
  const view = new View(facts);
  const findings: LintFinding[] = [];
  const unknown: LintUnknown[] = [];
  for (const rule of rules) {
    const outcome = conditionOf(rule).test(view);
    if (outcome.value === false) continue;
    const proof = proofAgainst(rule, outcome, facts);
    if (outcome.value === true) findings.push(findingOf(rule, outcome, proof));
    else unknown.push(unknownOf(rule, outcome, proof));
  }
  return { findings: findings.sort(bySeverity), unknown: unknown.sort(bySeverity) };
}

const bySeverity = (a: { readonly severity: Severity }, b: { readonly severity: Severity }): number =>
  LINT_SEVERITIES.indexOf(a.severity) - LINT_SEVERITIES.indexOf(b.severity);

const CONDITIONS = new WeakMap<LintRule, Condition>();

/** A rule's condition within its versions. */
export function conditionOf(rule: LintRule): Condition {
  const condition = getOrAdd(CONDITIONS, rule, () => withinVersions(rule));
  return condition;
}

function withinVersions({ when, versions = [] }: LintRule): Condition {
  const ranges = versions.flatMap((range) => [
    ...(range.from === undefined ? [] : [since(range.package, range.from)]),
    ...(range.before === undefined ? [] : [before(range.package, range.before)]),
  ]);
  return ranges.length === 0 ? when : all(when, ...ranges);
}

/**
 * What upstream asserts when it starts, or in its first step, cannot be an error of a run that printed an iteration
 * after the settings: its release does not refuse them, whichever it is. A rule without a message of upstream is about
 * what fails in silence, and stays an error.
 */
function proofAgainst(
  { severity, evidence, error }: LintRule,
  { looked }: Outcome,
  { trained }: RawFacts,
): LintProof | null {
  if (trained === undefined || severity !== 'error' || evidence !== 'asserted' || error === null) return null;
  const { iteration, file, line, files } = trained;
  const isOfRun = looked.every(
    ({ explicit }) =>
      explicit === null ||
      explicit.file === '' ||
      (files.has(explicit.file) && (explicit.file !== file || explicit.line < line)),
  );
  return isOfRun ? { iteration, file, line } : null;
}

function findingOf(rule: LintRule, { looked, clauses = [] }: Outcome, proof: LintProof | null): LintFinding {
  const facts = factsOf(looked);
  const place = facts.find(({ file }) => file !== null);
  return {
    rule: rule.id,
    severity: proof === null ? rule.severity : 'warning',
    accepted_by: proof,
    file: place?.file ?? null,
    line: place?.line ?? null,
    keys: facts.map(({ key }) => key),
    message: filled(rule.message, facts, clauses),
    fix: filled(rule.fix, facts),
    source: rule.source,
    error: rule.error,
    evidence: rule.evidence,
    facts,
  };
}

function unknownOf(rule: LintRule, { looked }: Outcome, proof: LintProof | null): LintUnknown {
  const facts = factsOf(looked);
  return {
    rule: rule.id,
    severity: proof === null ? rule.severity : 'warning',
    message: filled(rule.message, facts),
    needs: facts.filter(({ by }) => by === 'unknown').map(({ key }) => key),
    facts,
  };
}

/** Each fact once, those with a place first. */
function factsOf(looked: readonly Looked[]): LintFact[] {
  const seen = new Map<string, LintFact>();
  for (const { key, value, by, explicit, source } of looked) {
    if (seen.has(key)) continue;
    const { raw_key = null, file = null, line = null } = explicit ?? {};
    seen.set(key, { key, value, by, raw_key, file, line, source });
  }
  return [...seen.values()].sort((a, b) => Number(a.file === null) - Number(b.file === null));
}

/** `{key}` in a sentence becomes the value in force, `{clause}` the alternatives that hold. */
function filled(text: string, facts: readonly LintFact[], clauses: readonly string[] = []): string {
  return text.replace(/\{([\w.]+)\}/g, (whole, key: string) => {
    if (key === 'clause') return clauses.length === 0 ? 'not known yet' : [...new Set(clauses)].join('; ');
    const fact = facts.find((one) => one.key === key);
    return fact === undefined || fact.by === 'unknown' ? (fact === undefined ? whole : '?') : (fact.value ?? 'not set');
  });
}
