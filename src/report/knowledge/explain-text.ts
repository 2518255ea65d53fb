/** What `explain` found, one block each: what it is, what is known of it and how well, what disagrees. */
import type { AdviceEvidence } from '../../model/results/advise.js';
import type {
  Explained,
  ExplainedKnob,
  ExplainedRule,
  ExplainResult,
  KnobEffect,
  Reference,
} from '../../model/results/knowledge.js';
import { VERSION_NAMES } from '../../model/results/log.js';
import { screen } from '../screen.js';
import { printable, wrap } from '../table.js';
import { labelled, shortText } from '../text-pieces.js';

export function explainedText({ found }: ExplainResult): string {
  return `${found.map((one) => blockOf(one).join('\n')).join('\n\n')}\n`;
}

function blockOf(one: Explained): readonly string[] {
  switch (one.is) {
    case 'rule':
      return ruleBlock(one);
    case 'knob':
      return knobBlock(one);
    case 'symptom':
      return [
        ...head('symptom', one.id, one.symptom),
        ...line('cause', one.cause),
        ...line('confirm', one.confirm),
        ...line('fix', one.fix),
        ...references('disputed', one.disputes),
      ];
    case 'fix':
      return [...head('fix', one.id, one.title), ...references('disputed', one.disputes)];
    case 'disagreement':
      return [
        ...head('disagreement', one.id, one.topic),
        ...line('one source', one.a),
        ...line('another', one.b),
        ...line('resolved', one.resolution),
      ];
    case 'error':
      return [...head('error', one.id, one.remedy), ...line('who acts', one.who)];
  }
}

function ruleBlock(rule: ExplainedRule): string[] {
  return [
    ...head(`rule, ${rule.severity}`, rule.id, rule.message),
    ...line('broken if', rule.condition),
    ...line('versions', versionsOf(rule)),
    ...line('upstream', rule.error === null ? 'does not state it' : `says "${rule.error}"`),
    ...line('fix', rule.fix),
    ...line('evidence', rule.evidence),
    ...line('source', rule.source),
    ...list('knobs', rule.knobs, ', '),
    ...references('disputed', rule.disputes),
  ];
}

function knobBlock(knob: ExplainedKnob): string[] {
  const { spellings } = knob;
  return [
    ...head(KIND[knob.kind], knob.id, knob.title === knob.id ? '' : knob.title),
    // A variable is called the same everywhere.
    ...(knob.kind === 'env'
      ? []
      : [
          ...list('Bridge', spellings.megatron_bridge, '  '),
          ...list('Megatron-LM', spellings.megatron_lm, '  '),
          ...list('NeMo', spellings.nemo, '  '),
        ]),
    ...list('misspelt', knob.misspelt, '  '),
    ...(knob.values === '' ? [] : line('values', knob.values)),
    ...line('memory', effect(knob.memory)),
    ...line('speed', effect(knob.speed)),
    ...list('requires', knob.requires, '; '),
    ...list('conflicts', knob.conflicts, '; '),
    ...knob.evidence.flatMap((one, index) => line(index === 0 ? 'evidence' : '', evidence(one))),
    ...short('rules', knob.rules),
    ...references('disputed', knob.disputes),
  ];
}

const KIND: Readonly<Record<ExplainedKnob['kind'], string>> = {
  setting: 'knob, a setting',
  env: 'knob, a variable of the environment',
  launch: 'knob of the launch',
  tool: 'knob, a tool',
};

const effect = ({ effect: word, text }: KnobEffect<string>): string =>
  word === 'unknown' ? 'no guide states it' : text === '' ? word : `${word}: ${text}`;

const evidence = ({ text, grade, source }: AdviceEvidence): string => `${grade}: ${text} (${source})`;

/** A column for labels: `misspelt`, `Megatron-LM`. */
const LABEL = 13;

function line(label: string, text: string): string[] {
  return labelled(label, printable(text), LABEL);
}

function list(label: string, texts: readonly string[], between: string): string[] {
  return texts.length === 0 ? [] : line(label, texts.join(between));
}

function references(label: string, rows: readonly Reference[]): string[] {
  return rows.flatMap(({ id, text }, index) => line(index === 0 ? label : '', `${id}  ${text}`));
}

/** One line each; `explain` of the name, and --json, have the whole. */
function short(label: string, rows: readonly Reference[]): string[] {
  return rows.map(({ id, text }, index) => {
    const before = `  ${(index === 0 ? label : '').padEnd(LABEL)}${id}  `;
    return `${before}${shortText(text, screen.width - before.length)}`;
  });
}

function head(what: string, id: string, text: string): string[] {
  return [`${printable(id)}  (${what})`, ...(text === '' ? [] : wrap(`  ${printable(text)}`, screen.width, '  '))];
}

/** Versions may also be part of the condition. */
function versionsOf({ versions, condition }: ExplainedRule): string {
  if (versions.length > 0) return versions.join('; ');
  return VERSION_NAMES.some((name) => new RegExp(`\\b${name} [<≥]`).test(condition))
    ? 'as the condition has them'
    : 'all';
}
