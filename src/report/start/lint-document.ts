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
import * as d from '../document/document.js';
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

export function lintDocument(result: LintResult, { isStrict = false, isFull = false }: LintLook = {}): d.Document {
  const { schema, run, subject, findings, unknown, rules, settings } = result;
  const errors = unknown.filter(isError).length;
  const countOf = (severity: LintSeverity): number => findings.filter((one) => one.severity === severity).length;
  return {
    ...d.document(
      schema,
      d.joined(
        [
          ...subject.slice(0, isFull ? subject.length : MOST_SUBJECTS).map((name) => d.code(name)),
          !isFull && subject.length > MOST_SUBJECTS && d.t`${subject.length - MOST_SUBJECTS} more`,
        ],
        ', ',
      ),
      d.paragraph(d.joined(knownTexts(result), ' · '), { key: 'known' }),
      ...findings.map(findingSection),
      findings.length === 0 && d.paragraph('no rule is broken', { style: 'lead' }),
      ...releaseSections(unknown, isFull ? unknown.length : MOST_RELEASES),
      settingTable(result, isFull),
      isFull ? undecidedSection(unknown) : undecidedNote(unknown),
      d.paragraph(
        d.t`${d.joined(
          LINT_SEVERITIES.map((severity) => d.counted(countOf(severity), severity)),
          ', ',
        )}; ${d.counted(rules, 'rule')} on ${d.counted(settings, 'setting')}`,
        { key: 'summary' },
      ),
      isStrict &&
        errors > 0 &&
        !findings.some(isError) &&
        d.note(
          d.t`--strict: undecided (exit code 3): ${d.counted(errors, 'rule')} of severity error could not be checked`,
        ),
    ),
    fields: {
      ...{ run, subject, rules, settings, undecided_errors: errors, unknown: unknown.length },
      ...{ errors: countOf('error'), warnings: countOf('warning') },
    },
  };
}

const isError = ({ severity }: { readonly severity: LintSeverity }): boolean => severity === 'error';

/** As what it was judged. */
function knownTexts({ framework, versions, device, environment }: LintResult): d.Text[] {
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

const TONES: Readonly<Record<LintSeverity, d.Tone>> = { error: 'bad', warning: 'unsure', note: 'plain' };

function findingSection(finding: LintFinding): d.MaybePart {
  const { rule, severity, message, error, fix, accepted_by: accepted, file, line } = finding;
  return d.section(
    d.t`${d.as('severity', d.mark(severity, TONES[severity]))} ${d.as('rule', d.code(rule))} ${placeOf(finding)}`,
    { key: 'findings', isOneOf: true, fields: { file, line } },
    d.paragraph(message, { key: 'message' }),
    d.facts([
      d.fact('facts', factTexts(finding), { title: 'set' }),
      error !== null && d.fact('error', `"${error}"`, { title: 'says' }),
      accepted !== null &&
        d.fact(
          'accepted_by',
          d.t`the run trained with these settings up to iteration ${accepted.iteration} (${accepted.file === file ? `line ${accepted.line}` : placeOf(accepted)}): its release does not refuse them`,
          { title: 'but' },
        ),
      d.fact('fix', fix),
      severity !== 'note' && d.fact('more', d.code(`mbforensics explain ${rule}`)),
    ]),
  );
}

const placeOf = ({ file, line }: Pick<LintFact, 'file' | 'line'>): d.Text =>
  file === null ? '' : d.code(line === null || line === 0 ? file : `${file}:${line}`);

/** `cpu_offloading: True, pipeline_model_parallel_size: 4 (line 12)`; with places that are not the finding's. */
function factTexts(finding: LintFinding): d.Text {
  const { facts: all } = finding;
  const shown = all.slice(0, MOST_FACTS).map((one) => {
    const origin = originOf(one, finding);
    return d.t`${nameOf(one)}: ${one.value === null ? noneOf(one) : excerpt(one.value, LONGEST_VALUE)}${origin === '' ? '' : d.t` (${origin})`}`;
  });
  return d.joined([...shown, all.length > MOST_FACTS && d.t`${all.length - MOST_FACTS} more`], ', ');
}

const noneOf = ({ by, key }: LintFact): string =>
  by === 'unknown' ? 'not known' : isVariable(key) ? 'not set' : 'None';

/** The key, and its original spelling where that is another word. */
function nameOf({ key, raw_key: raw }: LintFact): d.Text {
  const last = raw?.replace(/^-+/, '').replaceAll('-', '_').split('.').at(-1) ?? key;
  return last === key || key.endsWith(`.${last}`) ? key : d.t`${key} (as ${raw ?? ''})`;
}

function originOf(one: LintFact, { file, line }: LintFinding): d.Text {
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

function undecidedNote(unknown: readonly LintUnknown[]): d.MaybePart {
  if (unknown.length === 0) return null;
  const errors = unknown.filter(isError).length;
  return d.paragraph(
    d.t`${d.counted(unknown.length, 'rule')} ${errors === 0 ? '' : d.t`(${errors} of severity error) `}${unknown.length === 1 ? 'needs' : 'need'} facts that are not here; --full lists them`,
  );
}

/** Rules that need the same fact are grouped: one answer decides them all. */
function undecidedSection(unknown: readonly LintUnknown[]): d.MaybePart {
  const groups = [...groupBy(unknown, ({ needs }) => (needs.length === 0 ? 'the framework' : needs.join(', ')))].map(
    ([needs, rules]) => ({ needs, rules, errors: rules.filter(isError).length }),
  );
  const options = optionsFor(unknown);
  const errors = sumOf(groups.map((group) => group.errors));
  return d.section(
    d.t`${d.counted(unknown.length, 'rule')} undecided${errors === 0 ? '' : d.t`, ${errors} of severity error`}`,
    {},
    d.table(
      groups.sort((a, b) => b.errors - a.errors || b.rules.length - a.rules.length),
      [
        d.names('rules', ({ rules }) => rules.map(({ rule }) => rule).join(', ')),
        d.names('needs', ({ needs }) => needs),
      ],
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
const releaseSections = (unknown: readonly LintUnknown[], most: number): d.MaybePart[] =>
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
      d.section(
        d.t`${d.mark('undecided', 'unsure')} ${d.as('rule', d.code(rule))} ${placeOf(known.find(({ file }) => file !== null)!)}`,
        { key: 'some_releases', isOneOf: true },
        d.paragraph(`an error in some releases, and ${needs.join(', ')} is unknown: ${message}`, { key: 'message' }),
      ),
    );

function settingTable({ unknown_settings: settings }: LintResult, isFull: boolean): d.MaybePart {
  const shown = isFull ? settings : settings.slice(0, MOST_SETTINGS);
  return d.section(
    d.t`${d.counted(settings.length, 'setting')} that no rule checks`,
    {},
    d.items(
      shown.map(({ raw_key: key, value, known, line }) => {
        const remarks = d.joined([known ?? 'unknown', line !== null && `line ${line}`], '; ');
        return d.t`${d.code(key)}: ${excerpt(value, LONGEST_VALUE)} (${remarks})`;
      }),
      { key: 'unknown_settings' },
    ),
    shown.length < settings.length && d.note(d.t`${settings.length - shown.length} more (--full lists all)`),
  );
}
