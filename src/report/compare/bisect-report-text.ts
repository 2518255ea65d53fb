/**
 * What a bisection came to: the culprit, how sure that is, what it changed in memory, and how it was found. As text and
 * as Markdown.
 */
import { maxOf, minOf, pushAll } from '../../model/lists.js';
import type { BisectReportResult, BisectSide } from '../../model/results/bisect.js';
import type { CompareCheck } from '../../model/results/compare.js';
import { formatCount } from '../../model/units.js';
import { mdCode, mdDetails, mdItems, mdLine, mdTable, mdText } from '../markdown.js';
import { screen } from '../screen.js';
import { tidy } from '../screen-lines.js';
import { screenText } from '../screen-text.js';
import { left, printable, right } from '../table.js';
import { counted, labelled, paragraph, shortText, signedBytes, wrapped } from '../text-pieces.js';
import { checkTable } from './check-table.js';
import { checkFigure, shortCommit } from './check-words.js';
import { changedLines, componentLines, type Sides, siteLines, suspectLines } from './difference-lines.js';
import {
  changedMarkdown,
  checkTableMarkdown,
  componentsMarkdown,
  sitesMarkdown,
  suspectsMarkdown,
} from './difference-markdown.js';

const SIDES: Sides = ['before', 'after'];
const SITES_SHOWN = 6;
const SUSPECTS_SHOWN = 6;
const SETTINGS_SHOWN = 12;

export function bisectReportText(
  result: BisectReportResult,
  { unicode }: { readonly unicode: boolean } = { unicode: true },
): string {
  const { confidence, confidence_reason: why, components, checks, sites, config, notes } = result;
  const title = `BISECT  ${stateWords(result)}`;
  const sure = `confidence ${confidence}`;
  const indent = ' '.repeat(8);
  const lines = [
    `${title}${' '.repeat(Math.max(2, screen.width - title.length - sure.length))}${sure}`,
    ...culpritTexts(result).flatMap((text) => wrapped(`${indent}${tidy(text)}`, indent)),
    ...(why === '' ? [] : wrapped(`${indent}${tidy(why)}`, indent)),
    ...pictureLines(result, unicode ? '█' : '#'),
    ...suspectsLeftLines(result),
    ...titled('settings that changed inside the range', settingLines(result)),
    ...titled(
      changeWords(result),
      checkTable(checks.filter(isShown), {
        preset: 'default',
        explains: ({ name }) => name === 'status',
        sides: SIDES,
      }),
    ),
    ...titled(null, componentLines('of which', components)),
    ...titled(null, siteLines(sites, SITES_SHOWN, SIDES)),
    ...changedLines('settings that differ, before → after', config, SETTINGS_SHOWN),
    ...titled('suspects, the likeliest first', suspectLines(result, SUSPECTS_SHOWN)),
    ...stepLines(result),
  ];
  if (notes.length > 0)
    pushAll(lines, ['', ...notes.flatMap((note, i) => labelled(i === 0 ? 'notes' : '', tidy(shortText(note, 1_000))))]);
  return screenText(lines);
}

/** `found`, `one of 3 commits`, `not finished: 4 commits are left`. */
function stateWords({ state, suspects_left: left }: BisectReportResult): string {
  const commits = counted(left.length, 'commit');
  if (state === 'found') return 'found';
  if (state === 'suspects') return `one of ${commits}`;
  return left.length === 0 ? 'not finished' : `not finished: ${commits} left`;
}

function culpritTexts({ culprit, criterion, golden }: BisectReportResult): string[] {
  const by = `judged on ${printable(criterion)} against golden ${shortText(golden, 60)}`;
  if (culprit === null) return [by];
  const runs = counted(culprit.judged_runs, 'run');
  return [`${commitWords(culprit, 80)}`, `${by}; the culprit by ${runs}`];
}

function commitWords({ sha, subject }: { readonly sha: string; readonly subject: string }, most: number): string {
  return shortText(`${shortCommit(sha)} ${subject}`, most);
}

/** `recompute_granularity full → not set in 1f3c9aa subject: more memory …`. */
export function settingTexts({ settings, criterion, suspects }: BisectReportResult): string[] {
  const more = criterion === 'throughput' ? 'a longer step' : 'more memory';
  return settings.slice(0, SETTINGS_SHOWN).map(({ key, from, to, commit, after, before, way, is_contract }) => {
    const where =
      commit === null
        ? `between ${shortCommit(after)} and ${shortCommit(before)}`
        : `in ${shortCommit(commit.sha)} ${shortText(commit.subject, 60)}`;
    const effect = is_contract
      ? 'runs on both sides are not comparable'
      : way === 'up' && suspects.some((suspect) => suspect.key === key && suspect.cause !== undefined)
        ? 'bears on the cause of the failure'
        : way === 'up'
          ? `${more} without any fault of the code`
          : way === 'down'
            ? 'may hide what is hunted'
            : 'moves what is judged';
    return `${key} ${from ?? 'not set'} → ${to ?? 'not set'} ${where}: ${effect}`;
  });
}

const settingLines = (result: BisectReportResult): string[] =>
  settingTexts(result).flatMap((text) => wrapped(`  ${tidy(text)}`, '    '));

function suspectsLeftLines({ suspects_left: left, state }: BisectReportResult): string[] {
  if (left.length === 0) return [];
  const title = state === 'suspects' ? 'one of these is the first bad commit' : 'not judged yet';
  const lines = left.flatMap((one) => {
    const why = one.why_skipped === null ? [] : wrapped(`    skipped: ${tidy(one.why_skipped)}`);
    return [`  ${commitWords(one, screen.width - 2)}`, ...why];
  });
  return ['', title, ...lines];
}

const BAR = 30;

/**
 * The judged commits in the order of the history, each with its figure as a bar. Bars begin below the least value, by
 * the range of all: a growth of some per cent is to be seen.
 */
function pictureLines({ steps, culprit }: BisectReportResult, block: string): string[] {
  const judged = steps.flatMap((step) => (step.place === null ? [] : [{ ...step, place: step.place }]));
  if (judged.length < 2) return [];
  const figureName = judged.find(({ figure }) => figure !== null)?.figure?.name;
  // A run may lack the figure of the others, and be judged by another one.
  const barOf = ({ figure }: (typeof judged)[number]) => (figure?.name === figureName ? (figure ?? null) : null);
  const values = judged.flatMap((step) => barOf(step)?.value ?? []);
  const [low, high] = [minOf(values), maxOf(values)];
  const base = Math.max(0, low - Math.max(high - low, 0.02 * high));
  const first = minOf(judged.map(({ place }) => place));
  const lines = judged
    .toSorted((a, b) => a.place - b.place)
    .map((step) => {
      const { place, sha, judgement } = step;
      const figure = barOf(step);
      const length = figure === null ? 0 : Math.max(1, Math.round((BAR * (figure.value - base)) / (high - base)));
      const value = figure === null ? '' : checkFigure(figure.value, figure.unit);
      const mark = sha === culprit?.sha ? '  first bad' : '';
      const cells = [
        `+${place - first}`.padStart(6),
        shortCommit(sha),
        judgement.padEnd(4),
        block.repeat(length).padEnd(BAR),
        value,
      ];
      return `  ${cells.join('  ')}${mark}`.trimEnd();
    });
  const name = figureName?.replaceAll('_', ' ');
  return [
    '',
    `judged commits, oldest first, by their distance to the first${name === undefined ? '' : `: ${name}`}`,
    ...lines,
  ];
}

/** Checks that differ or are undecided. Unchanged components are not shown. */
const isShown = ({ status, name }: CompareCheck): boolean =>
  status === 'regression' || status === 'improvement' || (status === 'undecided' && !name.includes(':'));

/** What each commit was judged to be, and why. */
function stepLines({ steps }: BisectReportResult): string[] {
  if (steps.length === 0) return ['', 'no commit was judged'];
  const indent = ' '.repeat(8);
  const lines = steps.flatMap((step) => {
    const runs = step.runs > 1 ? ` (${formatCount(step.runs)} runs)` : '';
    return [
      `  ${step.judgement.padEnd(6)}${commitWords(step, screen.width - 8)}`,
      ...wrapped(`${indent}${tidy(step.reason)}${runs}`, indent),
    ];
  });
  return ['', 'commits judged, in this order', ...lines, ...keptLines(steps)];
}

/** The folder of the bisection, which has one for each commit. */
function keptLines([first]: BisectReportResult['steps']): string[] {
  const folder = /(?:^|\/)(mbforensics\/bisect\/[^/]+)\//.exec(first?.bundle ?? '')?.[1];
  return folder === undefined ? [] : paragraph(`  output and judgement of each: …/${tidy(folder)}/COMMIT`);
}

/** What the figures measure: `from d34db33 to abc1234: +3.30 GiB at the peak`; null without figures. */
export function changeWords({ before, after, total_delta_bytes: bytes }: BisectReportResult): string | null {
  if (before === null && after === null) return null;
  const side = (one: BisectSide | null): string => (one === null ? 'unknown' : shortCommit(one.sha));
  const total = bytes === null ? '' : `: ${signedBytes(bytes)} at the peak`;
  return `from ${side(before)} to ${side(after)}${total}`;
}

function titled(title: string | null, lines: readonly string[]): string[] {
  if (title === null) return lines.length === 0 ? [] : ['', ...lines];
  return lines.length === 0 && /^(?:suspects|settings)/.test(title) ? [] : ['', title, ...lines];
}

export function bisectReportMarkdown(result: BisectReportResult): string {
  const { confidence, confidence_reason: why, steps, suspects_left: commits, state } = result;
  const change = changeWords(result);
  const lines = [
    `## mbforensics bisect: ${stateWords(result)}`,
    '',
    ...culpritTexts(result).map((text) => `- ${mdLine(text)}`),
    `- confidence ${confidence}${why === '' ? '' : `: ${mdText(why)}`}`,
    ...(commits.length === 0
      ? []
      : [
          '',
          state === 'suspects' ? 'One of these is the first bad commit:' : 'Not judged yet:',
          '',
          ...commits.map(
            ({ sha, subject, why_skipped: reason }) =>
              `- ${mdCode(shortCommit(sha))} ${mdText(subject)}${reason === null ? '' : `, skipped: ${mdText(reason)}`}`,
          ),
        ]),
    ...(result.settings.length === 0
      ? []
      : [
          '',
          'Settings that changed inside the range:',
          '',
          ...settingTexts(result).map((text) => `- ${mdText(text)}`),
        ]),
    ...(change === null ? [] : ['', `### ${mdText(change)}`]),
    ...(result.checks.length === 0 ? [] : ['', ...checkTableMarkdown(result.checks, 'default', SIDES)]),
    ...componentsMarkdown(result.components, SIDES),
    ...sitesMarkdown(result.sites, SIDES),
    ...changedMarkdown('settings', result.config, SIDES),
    ...suspectsMarkdown(result),
    ...mdDetails(
      `commits judged: ${formatCount(steps.length)}`,
      steps.length === 0
        ? []
        : mdTable(
            [left('commit'), left('judgement'), right('runs'), left('reason'), left('kept in')],
            steps.map((step) => [
              `${mdCode(shortCommit(step.sha))} ${mdText(step.subject)}`,
              step.judgement,
              formatCount(step.runs),
              mdText(step.reason),
              mdCode(step.bundle),
            ]),
          ),
    ),
    ...mdItems(result.notes),
  ];
  return `${lines.join('\n')}\n`;
}
