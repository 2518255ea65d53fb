/**
 * What is wrong with a configuration: a section for every broken rule, what is an error in some releases, settings that
 * no rule checks, and how many rules could not be decided.
 */
import { groupBy } from '../../model/group-by.js';
import { sumOf } from '../../model/lists.js';
import {
  LINT_SEVERITIES,
  type LintFact,
  type LintFinding,
  type LintResult,
  type LintSeverity,
  type LintUnknown,
} from '../../model/results/lint.js';
import { VERSION_NAMES } from '../../model/results/log.js';
import {
  as,
  code,
  counted,
  type Document,
  document,
  fact,
  facts,
  items,
  joined,
  type MaybePart,
  mark,
  names,
  note,
  paragraph,
  section,
  type Text,
  type Tone,
  t,
  table,
} from '../document/document.js';
import { excerpt } from '../document/values.js';

/** Characters of a value. */
const LONGEST_VALUE = 120;
const MOST_FACTS = 12;
const MOST_SETTINGS = 12;
const MOST_RELEASES = 4;
const MOST_SUBJECTS = 6;

export interface LintLook {
  /** With the reason of the exit code where an error could not be ruled out. */
  readonly isStrict?: boolean;
  /** All undecided rules and unchecked settings, else their number. */
  readonly isFull?: boolean;
}

export function lintDocument(result: LintResult, { isStrict = false, isFull = false }: LintLook = {}): Document {
  const { schema, run, subject, findings, unknown, rules, settings } = result;
  const errors = unknown.filter(isError).length;
  const countOf = (severity: LintSeverity): number => findings.filter((one) => one.severity === severity).length;
  return {
    ...document(
      schema,
      joined(
        [
          ...subject.slice(0, isFull ? subject.length : MOST_SUBJECTS).map((name) => code(name)),
          !isFull && subject.length > MOST_SUBJECTS && t`${subject.length - MOST_SUBJECTS} more`,
        ],
        ', ',
      ),
      paragraph(joined(knownTexts(result), ' · '), { key: 'known' }),
      ...findings.map(findingSection),
      findings.length === 0 && paragraph('no rule is broken', { style: 'lead' }),
      ...releaseSections(unknown, isFull ? unknown.length : MOST_RELEASES),
      settingTable(result, isFull),
      isFull ? undecidedSection(unknown) : undecidedNote(unknown),
      paragraph(
        t`${joined(
          LINT_SEVERITIES.map((severity) => counted(countOf(severity), severity)),
          ', ',
        )}; ${counted(rules, 'rule')} on ${counted(settings, 'setting')}`,
        { key: 'summary' },
      ),
      isStrict &&
        errors > 0 &&
        !findings.some(isError) &&
        note(t`--strict: undecided (exit code 3): ${counted(errors, 'rule')} of severity error could not be checked`),
    ),
    fields: {
      ...{ run, subject, rules, settings, undecided_errors: errors, unknown: unknown.length },
      ...{ errors: countOf('error'), warnings: countOf('warning') },
    },
  };
}

const isError = ({ severity }: { readonly severity: LintSeverity }): boolean => severity === 'error';

/** As what it was judged. */
function knownTexts({ framework, versions, device, environment }: LintResult): Text[] {
  const packages = VERSION_NAMES.flatMap((name) => {
    const version = versions[name];
    return version === undefined || version === framework.version ? [] : [`${name} ${excerpt(version, LONGEST_VALUE)}`];
  });
  return [
    framework.name === null
      ? 'framework unknown'
      : `${framework.name} ${framework.version === null ? '(version unknown)' : excerpt(framework.version, LONGEST_VALUE)}`,
    ...(packages.length === 0 ? ['package versions unknown'] : packages),
    device === null ? 'device unknown' : excerpt(device, LONGEST_VALUE),
    { whole: 'environment captured', partial: 'environment known in part', none: 'environment unknown' }[environment],
  ];
}

const TONES: Readonly<Record<LintSeverity, Tone>> = { error: 'bad', warning: 'unsure', note: 'plain' };

function findingSection(finding: LintFinding): MaybePart {
  const { rule, severity, message, error, fix, accepted_by: accepted, file, line } = finding;
  return section(
    t`${as('severity', mark(severity, TONES[severity]))} ${as('rule', code(rule))} ${placeOf(finding)}`,
    { key: 'findings', isOneOf: true, fields: { file, line } },
    paragraph(message, { key: 'message' }),
    facts([
      fact('facts', factTexts(finding), { title: 'set' }),
      error !== null && fact('error', `"${error}"`, { title: 'says' }),
      accepted !== null &&
        fact(
          'accepted_by',
          t`the run trained with these settings up to iteration ${accepted.iteration} (${accepted.file === file ? `line ${accepted.line}` : placeOf(accepted)}): its release does not refuse them`,
          { title: 'but' },
        ),
      fact('fix', fix),
      severity !== 'note' && fact('more', code(`mbforensics explain ${rule}`)),
    ]),
  );
}

const placeOf = ({ file, line }: Pick<LintFact, 'file' | 'line'>): Text =>
  file === null ? '' : code(line === null || line === 0 ? file : `${file}:${line}`);

/** `cpu_offloading: True, pipeline_model_parallel_size: 4 (line 12)`; with places that are not the finding's. */
function factTexts(finding: LintFinding): Text {
  const { facts: all } = finding;
  const shown = all.slice(0, MOST_FACTS).map((one) => {
    const origin = originOf(one, finding);
    return t`${nameOf(one)}: ${one.value === null ? noneOf(one) : excerpt(one.value, LONGEST_VALUE)}${origin === '' ? '' : t` (${origin})`}`;
  });
  return joined([...shown, all.length > MOST_FACTS && t`${all.length - MOST_FACTS} more`], ', ');
}

const noneOf = ({ by, key }: LintFact): string =>
  by === 'unknown' ? 'not known' : isVariable(key) ? 'not set' : 'None';

/** The key, and its original spelling where that is another word. */
function nameOf({ key, raw_key: raw }: LintFact): Text {
  const last = raw?.replace(/^-+/, '').replaceAll('-', '_').split('.').at(-1) ?? key;
  return last === key || key.endsWith(`.${last}`) ? key : t`${key} (as ${raw ?? ''})`;
}

function originOf(one: LintFact, { file, line }: LintFinding): Text {
  switch (one.by) {
    case 'default':
      return `default${one.source === null ? '' : `, ${sourceWords(one.source)}`}`;
    case 'assumed':
      return 'nothing sets it';
    case 'unknown':
      return '';
    case 'told':
      if (one.file === null || (one.file === file && one.line === line)) return '';
      return one.file === file && one.line ? `line ${one.line}` : placeOf(one);
  }
}

/** `Megatron-LM megatron/core/model_parallel_config.py ModelParallelConfig` → `Megatron-LM ModelParallelConfig`. */
function sourceWords(source: string): string {
  const words = source.split(' ');
  const kept = words.filter((word) => !/\/.*\.py\W*$/.test(word));
  return (kept.length > 1 ? kept : words).join(' ');
}

const isVariable = (key: string): boolean => /^[A-Z][A-Z0-9_]*$/.test(key);

// ---- what was not decided

function undecidedNote(unknown: readonly LintUnknown[]): MaybePart {
  if (unknown.length === 0) return null;
  const errors = unknown.filter(isError).length;
  return paragraph(
    t`${counted(unknown.length, 'rule')} ${errors === 0 ? '' : t`(${errors} of severity error) `}${unknown.length === 1 ? 'needs' : 'need'} facts that are not here; --full lists them`,
  );
}

/** Rules that need the same fact are grouped: one answer decides them all. */
function undecidedSection(unknown: readonly LintUnknown[]): MaybePart {
  const groups = [...groupBy(unknown, ({ needs }) => (needs.length === 0 ? 'the framework' : needs.join(', ')))].map(
    ([needs, rules]) => ({ needs, rules, errors: rules.filter(isError).length }),
  );
  const options = optionsFor(unknown);
  const errors = sumOf(groups.map((group) => group.errors));
  return section(
    t`${counted(unknown.length, 'rule')} undecided${errors === 0 ? '' : t`, ${errors} of severity error`}`,
    {},
    table(
      groups.sort((a, b) => b.errors - a.errors || b.rules.length - a.rules.length),
      [names('rules', ({ rules }) => rules.map(({ rule }) => rule).join(', ')), names('needs', ({ needs }) => needs)],
      { key: 'undecided', notes: [options.length > 0 && `to decide more: ${options.join(', ')}`] },
    ),
  );
}

/** The needed facts that the command line can supply. */
function optionsFor(unknown: readonly LintUnknown[]): string[] {
  const needs = new Set(unknown.flatMap((entry) => entry.needs));
  return [
    ...(unknown.some((entry) => entry.needs.length === 0) ? ['--framework NAME@VERSION'] : []),
    ...VERSION_NAMES.filter((name) => needs.has(name)).map((name) => `--version-of ${name}=VERSION`),
    ...(needs.has('device') ? ['--gpu NAME'] : []),
    ...([...needs].some(isVariable) ? ['--env FILE'] : []),
  ];
}

/** In which releases a setting is an error, where the release alone is unknown. */
const releaseSections = (unknown: readonly LintUnknown[], most: number): MaybePart[] =>
  unknown
    .filter(
      ({ severity, needs, facts: known }) =>
        severity === 'error' &&
        known.some(({ file }) => file !== null) &&
        needs.length > 0 &&
        needs.every((name) => VERSION_NAMES.some((one) => one === name)),
    )
    .slice(0, most)
    .map(({ rule, message, needs, facts: known }) =>
      section(
        t`${mark('undecided', 'unsure')} ${as('rule', code(rule))} ${placeOf(known.find(({ file }) => file !== null)!)}`,
        { key: 'some_releases', isOneOf: true },
        paragraph(`an error in some releases, and ${needs.join(', ')} is unknown: ${message}`, { key: 'message' }),
      ),
    );

function settingTable({ unknown_settings: settings }: LintResult, isFull: boolean): MaybePart {
  const shown = isFull ? settings : settings.slice(0, MOST_SETTINGS);
  return section(
    t`${counted(settings.length, 'setting')} that no rule checks`,
    {},
    items(
      shown.map(({ raw_key: key, value, known, line }) => {
        const remarks = joined([known ?? 'unknown', line !== null && `line ${line}`], '; ');
        return t`${code(key)}: ${excerpt(value, LONGEST_VALUE)} (${remarks})`;
      }),
      { key: 'unknown_settings' },
    ),
    shown.length < settings.length && note(t`${settings.length - shown.length} more (--full lists all)`),
  );
}
