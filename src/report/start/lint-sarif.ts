/** Findings about a configuration as SARIF 2.1.0, for code scanning: each at the lines of the settings it rests on. */
import type { LintFact, LintFinding, LintResult, LintSeverity } from '../../model/results/lint.js';
import {
  artifactOf,
  logical,
  message,
  type SarifLocation,
  type SarifResult,
  type SarifRule,
  sarifLog,
} from '../sarif.js';

/** The description of a rule, broken or not: so rule numbers do not change from run to run. */
export interface DescribedRule {
  readonly id: string;
  readonly severity: LintSeverity;
  /** With `{key}` in place of a value. */
  readonly message: string;
  readonly when: { readonly text: string };
  readonly fix: string;
  readonly error: string | null;
  readonly source: string;
  readonly evidence: string;
}

export function lintSarif(result: LintResult, rules: readonly DescribedRule[]): object {
  const { framework, versions, device, environment, unknown, run } = result;
  return sarifLog(
    rules.map(ruleOf),
    result.findings.map((finding) => resultOf(finding, result)),
    { run, framework, versions, device, environment, undecided: unknown.map(({ rule }) => rule) },
  );
}

function ruleOf({ id, severity, when, fix, error, source, evidence, ...rule }: DescribedRule): SarifRule {
  const errorText = error === null ? '' : ` The framework reports: "${error}".`;
  return {
    id,
    shortDescription: message(
      rule.message.replaceAll(/: \{clause\}| \(\{clause\}\)/g, '').replaceAll(/\{([\w.]+)\}/g, '$1'),
    ),
    fullDescription: message(`Broken when ${when.text}. Source: ${source}.`),
    help: message(`${fix}${errorText} See: mbforensics explain ${id}`),
    defaultConfiguration: { level: severity },
    properties: { evidence },
  };
}

function resultOf(finding: LintFinding, { subject, run }: LintResult): SarifResult {
  const { rule, severity, facts } = finding;
  const located = facts.filter(({ file }) => file !== null && file !== STDIN);
  const [first, ...relatedFacts] = located;
  const related = relatedFacts.map((fact, i) => ({ id: i + 1, message: message(wordsOf(fact)), ...placeOf(fact) }));
  return {
    ruleId: rule,
    level: severity,
    message: message([finding.message, ...acceptedWords(finding), finding.fix].join(' ')),
    locations: [first === undefined ? elsewhere(finding, run === null ? subject : []) : placeOf(first)],
    ...(related.length === 0 ? {} : { relatedLocations: related }),
    properties: { facts: facts.map(({ key, value, by }) => ({ key, value, by })) },
  };
}

function acceptedWords({ accepted_by: proof }: LintFinding): string[] {
  if (proof === null) return [];
  return [`The run trained with these settings up to iteration ${proof.iteration}: its release does not refuse them.`];
}

/** Input from a pipe is not a file of a checkout. */
const STDIN = '<stdin>';

/** Code scanning rejects a result without a file. A finding without an explicit setting gets the first judged file. */
function elsewhere({ keys }: LintFinding, subject: readonly string[]): SarifLocation {
  const file = subject.find((name) => name !== STDIN);
  if (file === undefined) return logical(keys[0] ?? 'configuration');
  return { physicalLocation: { artifactLocation: artifactOf(file), region: { startLine: 1 } } };
}

function placeOf({ file, line, key }: LintFact): SarifLocation {
  const region = line === null || line < 1 ? {} : { region: { startLine: line } };
  return { physicalLocation: { artifactLocation: artifactOf(file ?? ''), ...region }, ...logical(key) };
}

function wordsOf({ key, raw_key: raw, value }: LintFact): string {
  return `${raw ?? key}: ${value ?? 'None'}`;
}
