/** What `explain` found, a section each: what it is, what is known of it and how well, what disagrees. */
import type { AdviceEvidence } from '../../model/results/advise.js';
import type {
  Explained,
  ExplainedKnob,
  ExplainedName,
  ExplainedRule,
  ExplainResult,
  KnobEffect,
  KnobSpellings,
  KnobsResult,
  Reference,
} from '../../model/results/knowledge.js';
import { VERSION_NAMES } from '../../model/results/log.js';
import {
  as,
  code,
  column,
  type Document,
  document,
  type Fact,
  fact,
  facts,
  type MaybePart,
  note,
  paragraph,
  section,
  t,
  table,
} from '../document/document.js';

export const explainedDocument = ({ schema, asked, found }: ExplainResult): Document => ({
  ...document(schema, '', ...found.map(explainedSection)),
  fields: { asked },
});

interface Described {
  /** `rule, error` */
  readonly what: string;
  readonly text: string;
  readonly parts: readonly MaybePart[];
}

function explainedSection(one: Explained): MaybePart {
  const { what, text, parts } = described(one);
  return section(
    t`${as('id', code(one.id))} (${what})`,
    { key: 'found', isOneOf: true, fields: { is: one.is } },
    text !== '' && paragraph(text, { key: 'text' }),
    ...parts,
    'disputes' in one && references('disputes', one.disputes, 'Disputed'),
  );
}

function described(one: Explained): Described {
  switch (one.is) {
    case 'rule':
      return { what: `rule, ${one.severity}`, text: one.message, parts: ruleParts(one) };
    case 'knob':
      return { what: KIND[one.kind], text: one.title === one.id ? '' : one.title, parts: knobParts(one) };
    case 'name':
      return {
        what: one.of === null ? one.kind : `${one.kind}, ${one.of}`,
        text: one.does ?? '',
        parts: nameParts(one),
      };
    case 'symptom': {
      const { cause, confirm, fix } = one;
      return {
        what: 'symptom',
        text: one.symptom,
        parts: [facts([fact('cause', cause), fact('confirm', confirm), fact('fix', fix)])],
      };
    }
    case 'fix':
      return { what: 'fix', text: one.title, parts: [] };
    case 'disagreement': {
      const sources = [fact('a', one.a, { title: 'one source' }), fact('b', one.b, { title: 'another' })];
      return {
        what: 'disagreement',
        text: one.topic,
        parts: [facts([...sources, fact('resolution', one.resolution)])],
      };
    }
    case 'error':
      return { what: 'error', text: one.remedy, parts: [facts([fact('who', one.who, { title: 'who acts' })])] };
  }
}

const KIND: Readonly<Record<ExplainedKnob['kind'], string>> = {
  setting: 'knob, a setting',
  env: 'knob, a variable of the environment',
  launch: 'knob of the launch',
  tool: 'knob, a tool',
};

const ruleParts = (rule: ExplainedRule): MaybePart[] => [
  facts([
    fact('condition', rule.condition, { title: 'broken if' }),
    fact('versions', versionsOf(rule)),
    fact('error', rule.error === null ? 'upstream does not state it' : `"${rule.error}"`, { title: 'upstream error' }),
    fact('fix', rule.fix),
    fact('evidence', rule.evidence),
    fact('source', rule.source),
    list('knobs', rule.knobs),
  ]),
];

const knobParts = (knob: ExplainedKnob): MaybePart[] => [
  facts([
    // A variable is called the same everywhere.
    ...(knob.kind === 'env' ? [] : spellings(knob.spellings)),
    list('misspelt', knob.misspelt),
    knob.values !== '' && fact('values', knob.values),
    fact('memory', effect(knob.memory)),
    fact('speed', effect(knob.speed)),
    list('requires', knob.requires, '; '),
    list('conflicts', knob.conflicts, '; '),
    list('fixes', knob.fixes),
  ]),
  table(knob.modules, [titled('name', 'module'), column('does', (one) => `${one.does}${sinceText(one.since)}`)], {
    key: 'modules',
  }),
  evidenceTable(knob.evidence),
  references('rules', knob.rules, 'Rules'),
];

/** What is known, how well, and where from. */
export const evidenceTable = (evidence: readonly AdviceEvidence[]): MaybePart =>
  table(evidence, [titled('grade', 'evidence'), titled('text', ''), 'source'], { key: 'evidence' });

const nameParts = (name: ExplainedName): MaybePart[] => [
  facts([
    name.versions !== null && fact('versions', name.versions),
    ...spellings(name.spellings),
    list('also', name.also),
    list(
      'default',
      name.defaults.map(({ value, source }) => `${value ?? 'None'} (${source})`),
      '; ',
    ),
    list('knobs', name.knobs),
    list('fixes', name.fixes),
    name.source !== null && fact('source', name.source),
  ]),
  table(name.lists, [titled('list', 'in'), 'what', column('does', (one) => `${one.does}${sinceText(one.since)}`)], {
    key: 'lists',
  }),
  references(
    'rules',
    name.rules.map(({ id, severity, text }) => ({ id, text: `${severity}: ${text}` })),
    'Rules',
  ),
  references('measured', name.measured, 'Measured'),
];

const spellings = (of: KnobSpellings): (Fact | null)[] => [
  list('megatron_bridge', of.megatron_bridge, ', ', 'Megatron Bridge'),
  list('megatron_lm', of.megatron_lm, ', ', 'Megatron-LM'),
  list('nemo', of.nemo, ', ', 'NeMo'),
];

const list = (key: string, texts: readonly string[], between = ', ', title?: string): Fact | null =>
  texts.length === 0 ? null : fact(key, texts.join(between), title === undefined ? {} : { title });

const sinceText = (since: string | null): string =>
  since === null ? '' : since === 'dev' ? '; on the development branch only' : `; from Megatron-Core ${since} on`;

const effect = ({ effect: word, text }: KnobEffect<string>): string =>
  word === 'unknown' ? 'no guide states it' : text === '' ? word : `${word}: ${text}`;

const references = (key: string, rows: readonly Reference[], name: string): MaybePart =>
  table(rows, [titled('id', name.toLowerCase()), titled('text', '')], { key });

/** A field under another title. */
const titled = <Key extends string>(key: Key, name: string) =>
  column(key, (row: Readonly<Record<Key, string>>) => row[key], { title: name });

const shortEffect = (one: KnobEffect<string>): string | null => (one.effect === 'unknown' ? null : effect(one));

/** Versions may also be part of the condition. */
function versionsOf({ versions, condition }: ExplainedRule): string {
  if (versions.length > 0) return versions.join('; ');
  return VERSION_NAMES.some((name) => new RegExp(`\\b${name} [<≥]`).test(condition))
    ? 'as the condition has them'
    : 'all';
}

export function knobsDocument({ schema, filter, total, groups, knobs }: KnobsResult): Document {
  const of = filter === null ? '' : t` of ${total} match ${as('filter', code(filter))}`;
  const what = knobs.length === 1 && filter === null ? 'knob' : 'knobs';
  return document(
    schema,
    t`${knobs.length} ${what}${of}`,
    ...groups.map(({ id, title }) =>
      section(
        title,
        { key: 'groups', isOneOf: true, fields: { id } },
        table(
          knobs.filter(({ group }) => group === id),
          [
            titled('id', 'knob'),
            column('memory', ({ memory }) => shortEffect(memory)),
            column('speed', ({ speed }) => shortEffect(speed)),
            titled('grade', 'evidence'),
          ],
          { key: 'knobs' },
        ),
      ),
    ),
    knobs.length > 0 &&
      note(t`${code('mbforensics explain KNOB')}: spellings, values, evidence, what it needs and what it excludes`),
  );
}
