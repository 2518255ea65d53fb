/** What `explain` found, a section each: what it is, what is known of it and how well, what disagrees. */
import type { AdviceEvidence } from '../../model/results/advise.js';
import type * as results from '../../model/results/knowledge.js';
import { VERSION_NAMES } from '../../model/results/log.js';
import * as d from '../document/document.js';
import { wordOf } from '../words/fill.js';

export const explainedDocument = ({ schema, asked, found }: results.ExplainResult): d.Document => ({
  ...d.document(schema, '', ...found.map(explainedSection)),
  fields: { asked },
});

interface Described {
  /** `rule, error` */
  readonly what: string;
  readonly text: string;
  readonly parts: readonly d.MaybePart[];
}

function explainedSection(one: results.Explained): d.MaybePart {
  const { what, text, parts } = described(one);
  return d.section(
    d.t`${d.as('id', d.code(one.id))} (${what})`,
    { key: 'found', isOneOf: true, fields: { is: one.is } },
    text !== '' && d.paragraph(text, { key: 'text' }),
    ...parts,
    'disputes' in one && references('disputes', one.disputes, 'Disputed'),
  );
}

function described(one: results.Explained): Described {
  switch (one.is) {
    case 'rule':
      return { what: `rule, ${one.severity}`, text: one.message, parts: ruleParts(one) };
    case 'knob':
      return { what: knobKind(one.kind), text: one.title === one.id ? '' : one.title, parts: knobParts(one) };
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
        parts: [d.facts([d.fact('cause', cause), d.fact('confirm', confirm), d.fact('fix', fix)])],
      };
    }
    case 'fix':
      return { what: 'fix', text: one.title, parts: [] };
    case 'disagreement': {
      const sources = [d.fact('a', one.a, { title: 'one source' }), d.fact('b', one.b, { title: 'another' })];
      return {
        what: 'disagreement',
        text: one.topic,
        parts: [d.facts([...sources, d.fact('resolution', one.resolution)])],
      };
    }
    case 'error':
      return { what: 'error', text: one.remedy, parts: [d.facts([d.fact('who', one.who, { title: 'who acts' })])] };
  }
}

const knobKind = wordOf('codes', 'knob_kinds');

const ruleParts = (rule: results.ExplainedRule): d.MaybePart[] => [
  d.facts([
    d.fact('condition', rule.condition, { title: 'broken if' }),
    d.fact('versions', versionsOf(rule)),
    d.fact('error', rule.error === null ? 'upstream does not state it' : `"${rule.error}"`, {
      title: 'upstream error',
    }),
    d.fact('fix', rule.fix),
    d.fact('evidence', rule.evidence),
    d.fact('source', rule.source),
    list('knobs', rule.knobs),
  ]),
];

const knobParts = (knob: results.ExplainedKnob): d.MaybePart[] => [
  d.facts([
    // A variable is called the same everywhere.
    ...(knob.kind === 'env' ? [] : spellings(knob.spellings)),
    list('misspelt', knob.misspelt),
    knob.values !== '' && d.fact('values', knob.values),
    d.fact('memory', effect(knob.memory)),
    d.fact('speed', effect(knob.speed)),
    list('requires', knob.requires, '; '),
    list('conflicts', knob.conflicts, '; '),
    list('fixes', knob.fixes),
  ]),
  d.table(knob.modules, [titled('name', 'module'), d.column('does', (one) => `${one.does}${sinceText(one.since)}`)], {
    key: 'modules',
  }),
  evidenceTable(knob.evidence),
  references('rules', knob.rules, 'Rules'),
];

/** What is known, how well, and where from. */
export const evidenceTable = (evidence: readonly AdviceEvidence[]): d.MaybePart =>
  d.table(evidence, [titled('grade', 'evidence'), titled('text', ''), 'source'], { key: 'evidence' });

const nameParts = (name: results.ExplainedName): d.MaybePart[] => [
  d.facts([
    name.versions !== null && d.fact('versions', name.versions),
    ...spellings(name.spellings),
    list('also', name.also),
    list(
      'default',
      name.defaults.map(({ value, source }) => `${value ?? 'None'} (${source})`),
      '; ',
    ),
    list('knobs', name.knobs),
    list('fixes', name.fixes),
    name.source !== null && d.fact('source', name.source),
  ]),
  d.table(name.lists, [titled('list', 'in'), 'what', d.column('does', (one) => `${one.does}${sinceText(one.since)}`)], {
    key: 'lists',
  }),
  references(
    'rules',
    name.rules.map(({ id, severity, text }) => ({ id, text: `${severity}: ${text}` })),
    'Rules',
  ),
  references('measured', name.measured, 'Measured'),
];

const spellings = (of: results.KnobSpellings): (d.Fact | null)[] => [
  list('megatron_bridge', of.megatron_bridge, ', ', 'Megatron Bridge'),
  list('megatron_lm', of.megatron_lm, ', ', 'Megatron-LM'),
  list('nemo', of.nemo, ', ', 'NeMo'),
];

const list = (key: string, texts: readonly string[], between = ', ', title?: string): d.Fact | null =>
  texts.length === 0 ? null : d.fact(key, texts.join(between), title === undefined ? {} : { title });

const sinceText = (since: string | null): string =>
  since === null ? '' : since === 'dev' ? '; on the development branch only' : `; from Megatron-Core ${since} on`;

const effect = ({ effect: word, text }: results.KnobEffect<string>): string =>
  word === 'unknown' ? 'no guide states it' : text === '' ? word : `${word}: ${text}`;

const references = (key: string, rows: readonly results.Reference[], name: string): d.MaybePart =>
  d.table(rows, [titled('id', name.toLowerCase()), titled('text', '')], { key });

/** A field under another title. */
const titled = <Key extends string>(key: Key, name: string) =>
  d.column(key, (row: Readonly<Record<Key, string>>) => row[key], { title: name });

const shortEffect = (one: results.KnobEffect<string>): string | null => (one.effect === 'unknown' ? null : effect(one));

/** Versions may also be part of the condition. */
function versionsOf({ versions, condition }: results.ExplainedRule): string {
  if (versions.length > 0) return versions.join('; ');
  return VERSION_NAMES.some((name) => new RegExp(`\\b${name} [<≥]`).test(condition))
    ? 'as the condition has them'
    : 'all';
}

export function knobsDocument({ schema, filter, total, groups, knobs }: results.KnobsResult): d.Document {
  const of = filter === null ? '' : d.t` of ${total} match ${d.as('filter', d.code(filter))}`;
  const what = knobs.length === 1 && filter === null ? 'knob' : 'knobs';
  return d.document(
    schema,
    d.t`${knobs.length} ${what}${of}`,
    ...groups.map(({ id, title }) =>
      d.section(
        title,
        { key: 'groups', isOneOf: true, fields: { id } },
        d.table(
          knobs.filter(({ group }) => group === id),
          [
            titled('id', 'knob'),
            d.column('memory', ({ memory }) => shortEffect(memory)),
            d.column('speed', ({ speed }) => shortEffect(speed)),
            titled('grade', 'evidence'),
          ],
          { key: 'knobs' },
        ),
      ),
    ),
    knobs.length > 0 &&
      d.note(
        d.t`${d.code('mbforensics explain KNOB')}: spellings, values, evidence, what it needs and what it excludes`,
      ),
  );
}
