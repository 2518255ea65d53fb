/**
 * What is wrong with a configuration: a block for every error and warning, a line for every note, what could not be
 * decided, a count.
 */
import { groupBy } from '../../model/group-by.js';
import {
  LINT_SEVERITIES,
  type LintFact,
  type LintFinding,
  type LintProof,
  type LintResult,
  type LintUnknown,
  type LintUnknownSetting,
} from '../../model/results/lint.js';
import { VERSION_NAMES } from '../../model/results/log.js';
import { formatCount } from '../../model/units.js';
import { keepEnd, printable } from '../plain-text.js';
import { screen } from '../screen.js';
import { tidy } from '../screen-lines.js';
import { screenText } from '../screen-text.js';
import { counted, labelled, paragraph, shortText, wrapped } from '../text-pieces.js';

const INDENT = '  ';
/** Inside a block: the framework's message, the fix. */
const LABEL = 6;
const FACT_VALUE = 60;
const FACTS_SHOWN = 12;
const GROUPS_SHOWN = 8;
const RULES_SHOWN = 6;
const DEFAULTS_SHOWN = 24;
const RELEASES_SHOWN = 4;
const SUBJECTS_SHOWN = 6;

/** `strict`: an error that could not be ruled out decides the exit code; the last line has it. */
export function lintText(result: LintResult, strict = false): string {
  const notes = result.findings.filter(({ severity }) => severity === 'note');
  const blocks = result.findings.filter(({ severity }) => severity !== 'note').flatMap(block);
  const lines = [
    ...headLines(result),
    ...blocks,
    ...(notes.length === 0 ? [] : ['', ...notes.map(noteLine)]),
    ...(result.findings.length === 0 ? ['', 'no rule is broken'] : []),
    ...unknownLines(result),
    ...releaseLines(result),
    ...unknownSettingLines(result.unknown_settings),
    ...assumedLines(result.assumed),
    '',
    lastLine(result),
    ...(strict ? strictLines(result) : []),
  ];
  return screenText(lines);
}

/** What was judged, and as what. */
function headLines({ subject, framework, versions, device, environment }: LintResult): string[] {
  const names = subject.slice(0, SUBJECTS_SHOWN).map((name) => keepEnd(printable(name), 60));
  if (subject.length > SUBJECTS_SHOWN) names.push(`${formatCount(subject.length - SUBJECTS_SHOWN)} more`);
  const packages = VERSION_NAMES.flatMap((name) => {
    const version = versions[name];
    return version === undefined || version === framework.version ? [] : [`${name} ${shortText(version, 30)}`];
  });
  const known = [
    framework.name === null
      ? 'framework unknown'
      : `${framework.name} ${framework.version === null ? '(version unknown)' : shortText(framework.version, 30)}`,
    ...(packages.length === 0 ? ['package versions unknown'] : packages),
    device === null ? 'device unknown' : shortText(device, 40),
    { whole: 'environment captured', partial: 'environment known in part', none: 'environment unknown' }[environment],
  ];
  return [...wrapped(names.join(', '), INDENT), ...packed(known)];
}

/** Pieces on shared lines, none broken. */
function packed(pieces: readonly string[]): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + piece.length + 3 <= screen.width)
      lines[lines.length - 1] = `${last} · ${piece}`;
    else lines.push(`${INDENT}${piece}`);
  }
  return lines;
}

function block(finding: LintFinding): string[] {
  const { rule, severity, message, error, fix, accepted_by: accepted } = finding;
  return [
    '',
    ...paragraph(`${severity.padEnd(7)}  ${rule}  ${placeOf(finding)}`.trimEnd()),
    ...wrapped(`${INDENT}${factWords(finding)}`.trimEnd(), INDENT.repeat(2)).filter((line) => line.trim() !== ''),
    ...wrapped(`${INDENT}${tidy(message)}`, INDENT),
    ...(error === null ? [] : labelled('says', `"${tidy(error)}"`, LABEL)),
    ...(accepted === null ? [] : labelled('but', acceptedWords(accepted, finding.file), LABEL)),
    ...labelled('fix', tidy(fix), LABEL),
    ...labelled('more', `mbforensics explain ${rule}`, LABEL),
  ];
}

function acceptedWords(proof: LintProof, file: string | null): string {
  const place = proof.file === file ? `line ${proof.line}` : placeOf(proof);
  return `the run trained with these settings up to iteration ${formatCount(proof.iteration)} (${place}): its release does not refuse them`;
}

function noteLine(finding: LintFinding): string {
  const place = placeOf(finding);
  const lead = `${'note'.padEnd(7)}  ${printable(finding.rule)}  ${place === '' ? '' : `${place}  `}`;
  return lead + shortText(finding.message, Math.max(20, screen.width - lead.length));
}

function placeOf({ file, line }: Pick<LintFact, 'file' | 'line'>): string {
  if (file === null) return '';
  const name = keepEnd(printable(file), 60);
  return line === null || line === 0 ? name : `${name}:${line}`;
}

/**
 * `cpu_offloading: True, pipeline_model_parallel_size: 4 (line 12)`; where a value comes from, unless it is the place
 * of the finding.
 */
function factWords(finding: LintFinding): string {
  const shown = finding.facts.slice(0, FACTS_SHOWN).map((fact) => {
    const value = fact.value === null ? noneOf(fact) : shortText(fact.value, FACT_VALUE);
    const origin = originOf(fact, finding);
    return `${nameOf(fact)}: ${value}${origin === '' ? '' : ` (${origin})`}`;
  });
  const more = finding.facts.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

const noneOf = ({ by, key }: LintFact): string =>
  by === 'unknown' ? 'not known' : isVariable(key) ? 'not set' : 'None';

/** The key, and its original spelling where that is another word. */
function nameOf({ key, raw_key: raw }: LintFact): string {
  if (raw === null) return printable(key);
  const last = raw.replace(/^-+/, '').replaceAll('-', '_').split('.').at(-1) ?? '';
  const name = printable(key);
  return last === key || key.endsWith(`.${last}`) ? name : `${name} (as ${shortText(raw, 60)})`;
}

function originOf(fact: LintFact, { file, line }: LintFinding): string {
  switch (fact.by) {
    case 'default':
      return `default${fact.source === null ? '' : `, ${sourceWords(fact.source)}`}`;
    case 'assumed':
      return 'nothing sets it';
    case 'unknown':
      return '';
    case 'told':
      if (fact.file === null || (fact.file === file && fact.line === line)) return '';
      return fact.file === file && fact.line ? `line ${fact.line}` : placeOf(fact);
  }
}

/** `Megatron-LM megatron/core/model_parallel_config.py ModelParallelConfig` → `Megatron-LM ModelParallelConfig`. */
function sourceWords(source: string): string {
  const words = tidy(source).split(' ');
  const kept = words.filter((word) => !/\/.*\.py\W*$/.test(word));
  return shortText((kept.length > 1 ? kept : words).join(' '), 60);
}

const isVariable = (key: string): boolean => /^[A-Z][A-Z0-9_]*$/.test(key);

/** Rules that need the same fact are grouped: one answer decides them all. */
function unknownLines({ unknown }: LintResult): string[] {
  if (unknown.length === 0) return [];
  const groups = groupBy(unknown, ({ needs }) => (needs.length === 0 ? 'the framework' : needs.join(', ')));
  const sorted = [...groups].sort(([, a], [, b]) => errorsOf(b) - errorsOf(a) || b.length - a.length);
  const shown = sorted.slice(0, GROUPS_SHOWN).map(([needs, rules]) => {
    const names = rules.slice(0, RULES_SHOWN).map(({ rule }) => rule);
    if (rules.length > names.length) names.push(`${rules.length - names.length} more`);
    return `${names.join(', ')} ${rules.length === 1 ? 'needs' : 'need'} ${shortText(needs, 80)}`;
  });
  if (sorted.length > shown.length) {
    const hiddenCount = sorted.slice(GROUPS_SHOWN).reduce((sum, [, rules]) => sum + rules.length, 0);
    shown.push(`${hiddenCount} more need other facts (--json lists all)`);
  }
  const errors = errorsOf(unknown);
  const which =
    errors === unknown.length
      ? errors === 1
        ? ', an error'
        : ', all errors'
      : `, ${formatCount(errors)} of them errors`;
  const lead = `${counted(unknown.length, 'rule')} undecided${errors === 0 ? '' : which}`;
  const options = optionsFor(unknown);
  return [
    '',
    ...paragraph(`${lead}: ${shown.join('; ')}`),
    ...(options.length === 0 ? [] : wrapped(`${INDENT}to decide more: ${options.join(', ')}`, INDENT)),
  ];
}

const errorsOf = (rules: readonly LintUnknown[]): number => rules.filter(({ severity }) => severity === 'error').length;

/** The needed facts that the command line can supply. */
function optionsFor(unknown: readonly LintUnknown[]): string[] {
  const needs = new Set(unknown.flatMap((entry) => entry.needs));
  const packages = VERSION_NAMES.filter((name) => needs.has(name));
  return [
    ...(unknown.some((entry) => entry.needs.length === 0) ? ['--framework NAME@VERSION'] : []),
    ...packages.map((name) => `--version-of ${name}=VERSION`),
    ...(needs.has('device') ? ['--gpu NAME'] : []),
    ...([...needs].some(isVariable) ? ['--env FILE'] : []),
  ];
}

/** In which releases a setting is an error, where the release alone is unknown. */
function releaseLines({ unknown }: LintResult): string[] {
  const open = unknown.filter(
    ({ severity, needs, facts }) =>
      severity === 'error' &&
      facts.some(({ file }) => file !== null) &&
      needs.length > 0 &&
      needs.every((name) => VERSION_NAMES.some((one) => one === name)),
  );
  return open
    .slice(0, RELEASES_SHOWN)
    .flatMap(({ rule, message, needs, facts }) => [
      '',
      ...paragraph(`undecided  ${rule}  ${placeOf(facts.find(({ file }) => file !== null)!)}`.trimEnd()),
      ...wrapped(`${INDENT}an error in some releases, and ${needs.join(', ')} is unknown: ${tidy(message)}`, INDENT),
    ]);
}

function unknownSettingLines(settings: readonly LintUnknownSetting[]): string[] {
  return [
    ...settingsLine(
      settings.filter(({ known }) => known === null),
      'unknown and not checked by any rule',
    ),
    ...settingsLine(
      settings.filter(({ known }) => known !== null),
      'unknown to the rules and not checked',
    ),
  ];
}

function settingsLine(settings: readonly LintUnknownSetting[], what: string): string[] {
  if (settings.length === 0) return [];
  const shown = settings.slice(0, FACTS_SHOWN).map(({ raw_key: key, value, known, line }) => {
    const notes = [...(known === null ? [] : [known]), ...(line === null ? [] : [`line ${line}`])];
    return `${printable(key)}: ${shortText(value, FACT_VALUE)}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`;
  });
  if (settings.length > shown.length) shown.push(`${settings.length - shown.length} more`);
  return ['', ...paragraph(`${counted(settings.length, 'setting')} ${what}: ${shown.join(', ')}`)];
}

function assumedLines(assumed: readonly LintFact[]): string[] {
  if (assumed.length === 0) return [];
  const shown = assumed.slice(0, DEFAULTS_SHOWN).map(({ key, value }) => `${printable(key)} ${value ?? 'None'}`);
  if (assumed.length > shown.length) shown.push(`${assumed.length - shown.length} more`);
  return ['', ...paragraph(`defaults that findings rest on: ${shown.join(', ')}`)];
}

/** `lint` ends with 3 then: nothing is an error, and it is not known that nothing is. */
function strictLines({ findings, unknown }: LintResult): string[] {
  const errors = errorsOf(unknown);
  if (errors === 0 || findings.some(({ severity }) => severity === 'error')) return [];
  return [`--strict: undecided (exit code 3): ${counted(errors, 'rule')} of severity error could not be checked`];
}

function lastLine({ findings, rules, settings }: LintResult): string {
  const counts = LINT_SEVERITIES.map((severity) =>
    counted(findings.filter((finding) => finding.severity === severity).length, severity),
  );
  return `${counts.join(', ')}; ${counted(rules, 'rule')} on ${counted(settings, 'setting')}`;
}
