/** What `explain` found, one block each: what it is, what is known of it and how well, what disagrees. */
import type { AdviceEvidence } from '../../model/results/advise.js';
import type {
  Explained,
  ExplainedKnob,
  ExplainedName,
  ExplainedRule,
  ExplainResult,
  KnobEffect,
  KnobRow,
  KnobsResult,
  Reference,
} from '../../model/results/knowledge.js';
import { VERSION_NAMES } from '../../model/results/log.js';
import { formatCount } from '../../model/units.js';
import { screen } from '../screen.js';
import { left, printable, tableOf } from '../table.js';
import { labelled, shortText, UNKNOWN, wrapped } from '../text-pieces.js';

export function explainedText({ found }: ExplainResult): string {
  return `${found.map((one) => blockOf(one).join('\n')).join('\n\n')}\n`;
}

function blockOf(one: Explained): readonly string[] {
  switch (one.is) {
    case 'rule':
      return ruleBlock(one);
    case 'knob':
      return knobBlock(one);
    case 'name':
      return nameBlock(one);
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
    ...knob.modules.flatMap(({ name, since, does }, index) =>
      line(index === 0 ? 'modules' : '', `${name}: ${does}${since === null ? '' : `; ${sinceText(since)}`}`),
    ),
    ...line('memory', effect(knob.memory)),
    ...line('speed', effect(knob.speed)),
    ...list('requires', knob.requires, '; '),
    ...list('conflicts', knob.conflicts, '; '),
    ...knob.evidence.flatMap((one, index) => line(index === 0 ? 'evidence' : '', evidence(one))),
    ...short('rules', knob.rules),
    ...list('fixes', knob.fixes, ', '),
    ...references('disputed', knob.disputes),
  ];
}

function nameBlock(name: ExplainedName): string[] {
  const { kind, of, does, versions, spellings } = name;
  return [
    ...head(of === null ? kind : `${kind}, ${of}`, name.id, does ?? ''),
    ...(versions === null ? [] : line('versions', versions)),
    ...list('Bridge', spellings.megatron_bridge, '  '),
    ...list('Megatron-LM', spellings.megatron_lm, '  '),
    ...list('also', name.also, '  '),
    ...name.lists.flatMap(({ list: key, what, does: module, since }) =>
      line('in', `${key} (${what}): ${module}${since === null ? '' : `; ${sinceText(since)}`}`),
    ),
    ...name.defaults.flatMap(({ value, source }) => line('default', `${value ?? 'None'} (${source})`)),
    ...short(
      'rules',
      name.rules.map(({ id, severity, text }) => ({ id: `${id} (${severity})`, text })),
    ),
    ...list('knobs', name.knobs, ', '),
    ...list('fixes', name.fixes, ', '),
    ...short('measured', name.measured),
    ...(name.source === null ? [] : line('source', name.source)),
  ];
}

const sinceText = (since: string): string =>
  since === 'dev' ? 'on the development branch only' : `from Megatron-Core ${since} on`;

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
  return [`${printable(id)}  (${what})`, ...(text === '' ? [] : wrapped(`  ${printable(text)}`, '  '))];
}

/** Versions may also be part of the condition. */
function versionsOf({ versions, condition }: ExplainedRule): string {
  if (versions.length > 0) return versions.join('; ');
  return VERSION_NAMES.some((name) => new RegExp(`\\b${name} [<≥]`).test(condition))
    ? 'as the condition has them'
    : 'all';
}

export function knobsText({ filter, total, groups, knobs }: KnobsResult): string {
  const of = filter === null ? '' : ` of ${formatCount(total)} match ${printable(filter)}`;
  const lines = [`${formatCount(knobs.length)} ${knobs.length === 1 && filter === null ? 'knob' : 'knobs'}${of}`];
  for (const { id, title } of groups) {
    lines.push('', title, groupTable(knobs.filter(({ group }) => group === id)));
  }
  if (knobs.length > 0)
    lines.push('', 'mbforensics explain KNOB: spellings, values, evidence, what it needs and what it excludes');
  return `${lines.join('\n')}\n`;
}

/** Widths that a line of 100 columns holds, whatever the group. */
const NAME = 42;
const EFFECT = 20;

function groupTable(knobs: readonly KnobRow[]): string {
  return tableOf(knobs, [
    left('knob', ({ id }) => shortText(id, NAME)),
    left('memory', ({ memory }) => shortEffect(memory).padEnd(EFFECT)),
    left('speed', ({ speed }) => shortEffect(speed).padEnd(EFFECT)),
    left('evidence', ({ grade }) => grade),
  ]);
}

/** The word, with the figure where it is short. */
function shortEffect({ effect: word, text }: KnobEffect<string>): string {
  if (word === 'unknown') return UNKNOWN;
  const phrase = text === '' ? word : `${word}: ${text}`;
  return phrase.length <= EFFECT ? phrase : word;
}
