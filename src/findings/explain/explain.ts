/** Whatever has a name in what this tool knows, by that name. */

import { DISAGREEMENTS } from '../../knowledge/disagreements.js';
import { findKnobs, spellingsOf } from '../../knowledge/find-knob.js';
import { KNOBS } from '../../knowledge/knobs/index.js';
import type { Knob } from '../../knowledge/knobs/knob.js';
import { nearest } from '../../knowledge/nearest.js';
import { ERROR_CODES, type ErrorCode, type ErrorKind, MbfError } from '../../model/errors.js';
import {
  type Explained,
  type ExplainedKnob,
  type ExplainedRule,
  type ExplainedStatement,
  type ExplainResult,
  GUIDE_NAMES,
  type Reference,
} from '../../model/knowledge-results.js';
import { conditionOf } from '../lint/lint.js';
import type { LintRule } from '../lint/rule.js';
import { RULES } from '../lint/rules/index.js';
import { FIX_ROWS, SYMPTOM_ROWS } from './carriers.js';
import { coverageOf } from './coverage.js';
import { knobRow } from './list-knobs.js';
import { versionsText, withoutValues } from './rule-words.js';
import { rulesOf } from './rules-of-knob.js';
import { STATEMENTS } from './statements/index.js';
import type { Statement } from './statements/statement.js';

/** @throws MbfError where nothing has that name, with those that are like it */
export function explain(asked: string): ExplainResult {
  const found = everything(asked.trim());
  if (found.length > 0) return { schema: 'mbforensics/explain@1', asked, found };
  const like = nearest(asked, names());
  throw new MbfError(
    'MBF1001',
    `nothing is called "${asked}"${like.length === 0 ? '; `mbforensics knobs` lists the knobs' : `; like it: ${like.join(', ')}`}`,
  );
}

function everything(asked: string): readonly Explained[] {
  const wanted = asked.toLowerCase();
  const isIt = ({ id }: { readonly id: string }): boolean => id.toLowerCase() === wanted;
  const named: readonly Explained[] = [
    ...RULES.filter(isIt).map(ruleOf),
    ...SYMPTOM_ROWS.filter((row) => isIt(row) || row.name.toLowerCase() === wanted).map((row) => ({
      is: 'symptom' as const,
      ...row,
      disputes: disputesOf(row.statements),
      statements: saidOf(row.statements),
    })),
    ...FIX_ROWS.filter(isIt).map((row) => ({
      is: 'fix' as const,
      ...row,
      disputes: disputesOf(row.statements),
      statements: saidOf(row.statements),
    })),
    ...STATEMENTS.filter(isIt).map(statementOf),
    ...DISAGREEMENTS.filter(isIt).map((one) => ({
      is: 'disagreement' as const,
      ...one,
      statements: saidOf(one.statements),
    })),
    ...(Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => code.toLowerCase() === wanted).map(errorOf),
  ];
  // The name of a rule or a statement is no spelling of a knob, whatever it resembles; that of a fix may be: `tp`.
  const isTaken = named.some(({ is }) => is !== 'fix');
  const knobs = findKnobs(asked).filter((knob) => !isTaken || isIt(knob));
  return [...knobs.map(knobOf), ...named];
}

function names(): string[] {
  return [
    ...[RULES, SYMPTOM_ROWS, FIX_ROWS, STATEMENTS, DISAGREEMENTS].flatMap((rows) => rows.map(({ id }) => id)),
    ...SYMPTOM_ROWS.map(({ name }) => name),
    ...KNOBS.flatMap(spellingsOf).filter((spelling) => !spelling.includes(' ')),
    ...Object.keys(ERROR_CODES),
  ];
}

function ruleOf(rule: LintRule): ExplainedRule {
  const condition = conditionOf(rule).text;
  const { id, severity, message, versions = [], error, fix, evidence, source, statements } = rule;
  return {
    is: 'rule',
    id,
    severity,
    message: withoutValues(message),
    condition,
    versions: versions.map(versionsText),
    error,
    fix: withoutValues(fix),
    evidence,
    source,
    knobs: KNOBS.filter((knob) => rulesOf(knob).includes(rule)).map((knob) => knob.id),
    disputes: disputesOf(statements),
    statements: saidOf(statements),
  };
}

function knobOf(knob: Knob): ExplainedKnob {
  const { values, evidence, requires, conflicts, misspelt = [] } = knob;
  const disputes = DISAGREEMENTS.filter(({ id }) => knob.disputes.includes(id));
  return {
    is: 'knob',
    ...knobRow(knob),
    values,
    evidence,
    requires,
    conflicts,
    misspelt,
    rules: rulesOf(knob).map(({ id, message }) => ({ id, text: withoutValues(message) })),
    disputes: disputes.map(({ id, topic, resolution }) => ({ id, text: `${topic}: ${resolution}` })),
    statements: saidOf(knob.statements),
  };
}

function statementOf(statement: Statement): ExplainedStatement {
  const { carriers, reason } = coverageOf(statement.id);
  const word = (what: string, ids: readonly string[]): string[] => ids.map((id) => `${what} ${id}`);
  return {
    is: 'statement',
    ...statement,
    sources: statement.sources.map((guide) => GUIDE_NAMES[guide]),
    carried_by: [
      ...word('rule', carriers.rules),
      ...word('knob', carriers.knobs),
      ...word('symptom', carriers.symptoms),
      ...word('fix', carriers.fixes),
    ],
    reason,
    disputes: disputesOf([statement.id]),
  };
}

const WHO: Readonly<Record<ErrorKind, string>> = {
  usage: 'the caller',
  input: 'whoever made the input',
  store: 'whoever owns the store',
  internal: 'us',
};

function errorOf(code: ErrorCode): Explained {
  const { kind, remedy } = ERROR_CODES[code];
  return { is: 'error', id: code, who: WHO[kind], remedy };
}

const BY_ID = new Map(STATEMENTS.map((statement) => [statement.id, statement]));

function saidOf(ids: readonly string[]): Reference[] {
  return ids.map((id) => ({ id, text: BY_ID.get(id)?.text ?? '' }));
}

function disputesOf(statements: readonly string[]): Reference[] {
  return DISAGREEMENTS.filter((one) => one.statements.some((id) => statements.includes(id))).map(
    ({ id, topic, resolution }) => ({ id, text: `${topic}: ${resolution}` }),
  );
}
