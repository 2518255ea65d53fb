/** Whatever has a name in what this tool knows, by that name. */

import { conditionOf } from '../../../derive/lint/lint.js';
import type { LintRule } from '../../../derive/lint/rule.js';
import { lintRules } from '../../../derive/lint/rules.js';
import { DISAGREEMENTS, type Disagreement } from '../../../knowledge/disagreements.js';
import { errorRemedies, remedyOf } from '../../../knowledge/errors.js';
import { findKnobs, isKnob, spellingsOf } from '../../../knowledge/find-knob.js';
import { KNOBS } from '../../../knowledge/knobs/index.js';
import type { Knob } from '../../../knowledge/knobs/knob.js';
import { moduleLists } from '../../../knowledge/module-lists.js';
import { nearest } from '../../../knowledge/nearest.js';
import { SYMPTOMS } from '../../../knowledge/symptoms.js';
import { type ErrorCode, type ErrorKind, kindOfError, MbfError } from '../../../model/errors.js';
import type {
  Explained,
  ExplainedKnob,
  ExplainedRule,
  ExplainResult,
  Reference,
} from '../../../model/results/knowledge.js';
import { FIXES } from '../../advice/fixes/index.js';
import { knobRow } from './list-knobs.js';
import { rulesOf, versionsText, withoutValues } from './rule-words.js';
import { explainNames, fixesThatMention, mentionedNames } from './upstream.js';

/** @throws MbfError where nothing has that name, with those that are like it */
export function explain(asked: string): ExplainResult {
  const topics = everything(asked.trim());
  if (topics.length > 0) return { schema: 'mbforensics/explain@1', asked, found: topics };
  const like = nearest(asked, names());
  throw new MbfError(
    'MBF1001',
    `nothing is called "${asked}"${like.length === 0 ? '; `mbforensics explain knobs` lists the knobs' : `; like it: ${like.join(', ')}`}`,
  );
}

function everything(asked: string): readonly Explained[] {
  const wantedName = asked.toLowerCase();
  const isIt = ({ id }: { readonly id: string }): boolean => id.toLowerCase() === wantedName;
  const named: readonly Explained[] = [
    ...lintRules().filter(isIt).map(ruleOf),
    ...SYMPTOMS.filter((row) => isIt(row) || row.name.toLowerCase() === wantedName).map(
      ({ id, name, symptom, cause, confirm, fix }): Explained => ({
        is: 'symptom',
        id,
        name,
        symptom,
        cause,
        confirm,
        fix,
        disputes: disputesOf(id),
      }),
    ),
    ...FIXES.filter(isIt).map(({ id, title }): Explained => ({ is: 'fix', id, title, disputes: disputesOf(id) })),
    ...DISAGREEMENTS.filter(isIt).map(
      ({ concerns, ...disagreement }): Explained => ({ is: 'disagreement', ...disagreement }),
    ),
    ...(Object.keys(errorRemedies()) as ErrorCode[]).filter((code) => code.toLowerCase() === wantedName).map(errorOf),
  ];
  // A rule's id is not taken for a spelling of a knob, whatever it resembles. A fix's id may be one: `tp`.
  const isTaken = named.some(({ is }) => is !== 'fix');
  const knobs = findKnobs(asked).filter((knob) => !isTaken || isIt(knob));
  const topics = [...knobs.map(knobOf), ...named];
  const isWhole = isTaken || knobs.some((knob) => isKnob(knob, asked));
  return isWhole ? topics : [...explainNames(asked), ...topics];
}

function names(): string[] {
  return [
    ...[lintRules(), SYMPTOMS, FIXES, DISAGREEMENTS].flatMap((rows) => rows.map(({ id }) => id)),
    ...SYMPTOMS.map(({ name }) => name),
    ...KNOBS.flatMap(spellingsOf).filter((spelling) => !spelling.includes(' ')),
    ...Object.keys(errorRemedies()),
    ...mentionedNames(),
  ];
}

function ruleOf(rule: LintRule): ExplainedRule {
  const condition = conditionOf(rule).text;
  const { id, severity, message, versions = [], error, fix, evidence, source } = rule;
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
    disputes: disputesOf(id),
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
    modules: Object.entries(moduleLists()[knob.id]?.modules ?? {}).map(([name, { since = null, does }]) => ({
      ...{ name, since, does },
    })),
    fixes: fixesThatMention([knob.id]),
    rules: rulesOf(knob).map(({ id, message }) => ({ id, text: withoutValues(message) })),
    disputes: disputes.map(disputeOf),
  };
}

const WHO: Readonly<Record<ErrorKind, string>> = {
  usage: 'the caller',
  input: 'the author of the input',
  store: 'the owner of the store',
  internal: 'us',
};

function errorOf(code: ErrorCode): Explained {
  return { is: 'error', id: code, who: WHO[kindOfError(code)], remedy: remedyOf(code) };
}

function disputesOf(id: string): Reference[] {
  return DISAGREEMENTS.filter(({ concerns }) => concerns.includes(id)).map(disputeOf);
}

function disputeOf({ id, topic, resolution }: Disagreement): Reference {
  return { id, text: `${topic}: ${resolution}` };
}
