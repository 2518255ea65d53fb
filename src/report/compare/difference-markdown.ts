/** Checks, components, sites, settings and suspects as Markdown. */

import type { DiffComponent, DiffSite } from '../../model/diff-parts.js';
import type { ChangedValue, CompareCheck, Preset, Suspect } from '../../model/results/compare.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { mdCode, mdDetails, mdFence, mdLine, mdTable, mdText } from '../markdown.js';
import { type Column, left, right } from '../table.js';
import { signedBytes } from '../text-pieces.js';
import {
  changeOf,
  checkFigure,
  failsGate,
  nameOf,
  relativeOf,
  remarkOf,
  shortCommit,
  toleranceOf,
} from './check-words.js';
import {
  alsoChangedText,
  changedComponents,
  grownSites,
  otherSites,
  placeOf,
  type Sides,
  type Suspected,
  siteFigures,
  valueWords,
} from './difference-lines.js';
import { upstreamWords } from './upstream-words.js';

const MOST_SITES = 20;
const MOST_VALUES = 40;
const MOST_SUSPECTS = 10;
const MOST_COMMITS = 5;
const MOST_LINES = 12;

/** Statuses that fail are set in bold: the eye finds them without colours. */
export function checkTableMarkdown(checks: readonly CompareCheck[], preset: Preset, sides: Sides): string[] {
  if (checks.length === 0) return [];
  const rows = checks.map((check) => {
    const upstream = upstreamWords(check, preset);
    const remark = [mdText(remarkOf(check)), ...(upstream === null ? [] : [mdCode(upstream)])];
    return [
      mdCode(nameOf(check)),
      ...[checkFigure(check.golden, check.unit), checkFigure(check.current, check.unit)].map(mdText),
      ...[[changeOf(check), relativeOf(check)].filter((text) => text !== '').join(', '), toleranceOf(check)].map(
        mdText,
      ),
      failsGate(check, preset) ? `**${check.status}**` : check.status,
      remark.filter((text) => text !== '').join('<br>'),
    ];
  });
  return mdTable(
    [left('check'), ...[...sides, 'change', 'tolerance'].map((title) => right(title)), left('status'), left('remark')],
    rows,
  );
}

export function componentsMarkdown(components: readonly DiffComponent[], sides: Sides): string[] {
  const changed = changedComponents(components);
  const rows = changed.map((one) => [
    mdText(one.component),
    mdText(signedBytes(one.delta_bytes)),
    formatBytes(one.a_bytes),
    formatBytes(one.b_bytes),
  ]);
  const title = `components: ${count(changed.length, 'differs', 'differ')}`;
  return rows.length === 0 ? [] : mdDetails(title, mdTable([left('component'), ...figureColumns(sides)], rows));
}

export function sitesMarkdown(sites: readonly DiffSite[], sides: Sides): string[] {
  const grown = grownSites(sites);
  const rows = grown.slice(0, MOST_SITES).map((site) => [mdCode(site.site), ...siteFigures(site).map(mdText)]);
  const otherRows = otherSites(grown.slice(MOST_SITES), sites);
  const columns = [left('call site'), ...figureColumns(sides), right('blocks')];
  const lines = rows.length === 0 ? [] : mdTable(columns, rows);
  return mdDetails(`call sites: ${count(grown.length, 'grew', 'grew')}`, [
    ...lines,
    ...(otherRows === '' ? [] : ['', mdLine(otherRows)]),
  ]);
}

export function figureColumns(sides: Sides): Column[] {
  return ['change', ...sides].map((title) => right(title));
}

export function changedMarkdown(title: string, values: readonly ChangedValue[], sides: Sides): string[] {
  if (values.length === 0) return [];
  const rows = values
    .slice(0, MOST_VALUES)
    .map(({ key, a, b }) => [mdCode(key), mdCode(valueWords(a)), mdCode(valueWords(b))]);
  return mdDetails(`${title}: ${count(values.length, 'differs', 'differ')}`, [
    ...mdTable([left('key'), ...sides.map((side) => left(side))], rows),
    ...moreLine(values.length - MOST_VALUES),
  ]);
}

export function suspectsMarkdown(result: Suspected): string[] {
  const { suspects } = result;
  if (suspects.length === 0) return [];
  const also = alsoChangedText(result);
  const items = suspects.slice(0, MOST_SUSPECTS).flatMap((suspect, i) => suspectItem(suspect, i + 1));
  return mdDetails(`suspects: ${formatCount(suspects.length)}, the likeliest first`, [
    ...items,
    ...moreLine(suspects.length - MOST_SUSPECTS),
    ...(also === '' ? [] : ['', mdText(also)]),
  ]);
}

function suspectItem(suspect: Suspect, number: number): string[] {
  const [place, hunk] = placeOf(suspect);
  const lead = `${number}. `;
  const indent = ' '.repeat(lead.length);
  const commits = suspect.commits.slice(0, MOST_COMMITS);
  const more = suspect.commits.length - commits.length;
  return [
    `${lead}${mdCode(place)}${hunk === '' ? '' : ` ${mdCode(hunk)}`}: ${mdText(suspect.reason)} (score ${suspect.score.toFixed(2)})`,
    ...(suspect.lines.length === 0 ? [] : ['', ...mdFence(suspect.lines.slice(0, MOST_LINES), 'diff', indent), '']),
    ...commits.map(({ sha, subject }) => `${indent}- ${mdCode(shortCommit(sha))} ${mdText(subject)}`),
    ...(more > 0 ? [`${indent}- and ${formatCount(more)} more`] : []),
  ];
}

function moreLine(more: number): string[] {
  return more > 0 ? ['', `${formatCount(more)} more; \`--json\` has all`] : [];
}

function count(number: number, one: string, many: string): string {
  return `${formatCount(number)} ${number === 1 ? one : many}`;
}
