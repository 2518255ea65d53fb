/** Differences between two runs other than the judged figures: components, call sites, settings, and suspects. */

import type { DiffComponent, DiffSite } from '../../model/diff-parts.js';
import { maxOf } from '../../model/lists.js';
import type { ChangedValue, CompareResult, Suspect } from '../../model/results/compare.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { screen } from '../screen.js';
import { fitLabels, keepEnd, keepEnds, left, printable, right, table } from '../table.js';
import { paragraph, shortText, signedBytes, wrapped } from '../text-pieces.js';
import { shortCommit } from './check-words.js';

/** Sites listed with the callers that made them grow. */
const EXPLAINED = 3;
/** The last column gets what the figures leave, but never less. */
const LEAST_NAME = 36;
/** Of indent and gaps between the columns. */
const GAPS = 10;
const COMMITS_SHOWN = 3;
const LINES_SHOWN = 6;
const VALUE = 120;

/** Components that grew or shrank, the largest change first; none where no component is known. */
export function changedComponents(components: readonly DiffComponent[]): DiffComponent[] {
  const changed = components.filter(({ delta_bytes }) => delta_bytes !== 0);
  if (changed.every(({ component }) => component === 'unattributed' || component === 'before_recording')) return [];
  return changed.toSorted((a, b) => Math.abs(b.delta_bytes) - Math.abs(a.delta_bytes));
}

/** `activation +3.10 GiB, workspace +200.00 MiB`, over one line or two. */
export function componentLines(label: string, components: readonly DiffComponent[]): string[] {
  const parts = changedComponents(components).map(
    ({ component, delta_bytes }) => `${component} ${signedBytes(delta_bytes)}`,
  );
  if (parts.length === 0) return [];
  return wrapped(`${label.padEnd(12)}${parts.join(', ')}`, ' '.repeat(12));
}

/** The words for the two sides of a comparison. */
export type Sides = readonly [a: string, b: string];

export interface SiteRow {
  /** Difference, a, b, blocks. */
  readonly figures: readonly string[];
  /** Kept whole. */
  readonly lead: string;
  /** Shortened where it is too long. */
  readonly name: string;
}
export const NO_FIGURES = ['', '', '', ''];

/** The name of a row gets what the figures leave of a line; each of these has `leastWidth` columns or more. */
export function siteTable(rows: readonly SiteRow[], sides: Sides, title: string, leastWidth: number): string {
  const widths = NO_FIGURES.map((_, i) => Math.max(leastWidth, maxOf(rows.map(({ figures }) => figures[i]!.length))));
  const width = Math.max(LEAST_NAME, screen.width - GAPS - widths.reduce((sum, one) => sum + one, 0));
  const names = fitLabels(
    rows.map(({ name }) => printable(name)),
    rows.map(({ lead }) => width - lead.length),
    fitSite,
  );
  return table(
    [...['change', ...sides, 'blocks'].map((name) => right(name)), left(title)],
    rows.map(({ figures, lead }, i) => [...figures, lead + names[i]!]),
    '  ',
  );
}

/** Change, bytes on both sides, blocks on both sides. */
export function siteFigures(site: DiffSite): string[] {
  return [
    signedBytes(site.delta_bytes),
    formatBytes(site.a_bytes),
    formatBytes(site.b_bytes),
    blockCounts(site.a_count, site.b_count),
  ];
}

export function blockCounts(a: number, b: number): string {
  return a === b ? formatCount(a) : `${formatCount(a)} → ${formatCount(b)}`;
}

/** Sites that hold more in b than in a, the most first. */
export function grownSites(sites: readonly DiffSite[]): DiffSite[] {
  return sites.filter(({ delta_bytes }) => delta_bytes > 0).toSorted((a, b) => b.delta_bytes - a.delta_bytes);
}

/** A table of the sites that grew, `limit` of them, and a line on the others. */
export function siteLines(sites: readonly DiffSite[], limit: number, [a, b]: Sides, howToSeeAll = ''): string[] {
  const grown = grownSites(sites);
  const shown = grown.slice(0, limit);
  const rows = shown.flatMap((site, i) => siteRows(site, i < EXPLAINED, [a, b]));
  const drawn = siteTable(rows, [a, b], 'call site that grew', 7);
  const lines = rows.length === 0 ? [] : drawn.split('\n');
  const otherRows = otherSites(grown.slice(limit), sites);
  return otherRows === '' ? lines : [...lines, `  ${otherRows}${grown.length > limit ? howToSeeAll : ''}`];
}

/** `4 more sites grew by 1.20 GiB, 2 sites shrank by 30.00 MiB`. */
export function otherSites(left: readonly DiffSite[], sites: readonly DiffSite[]): string {
  const words = (of: readonly DiffSite[], more: string, verb: string): string[] => {
    if (of.length === 0) return [];
    const bytes = of.reduce((sum, { delta_bytes }) => sum + Math.abs(delta_bytes), 0);
    return [`${formatCount(of.length)} ${more}${of.length === 1 ? 'site' : 'sites'} ${verb} by ${formatBytes(bytes)}`];
  };
  const shrunk = sites.filter(({ delta_bytes }) => delta_bytes < 0);
  return [...words(left, 'more ', 'grew'), ...words(shrunk, '', 'shrank')].join(', ');
}

function siteRows(site: DiffSite, isExplained: boolean, sides: Sides): SiteRow[] {
  const alone = site.match === 'only_a' ? sides[0] : site.match === 'only_b' ? sides[1] : null;
  const rows: SiteRow[] = [
    { figures: siteFigures(site), lead: alone === null ? '' : `only in ${alone}: `, name: site.site },
  ];
  const addRow = (lead: string, name: string): void => void rows.push({ figures: NO_FIGURES, lead: `  ${lead}`, name });
  if (site.match === 'renamed' || (site.match === 'moved' && site.a_site !== site.b_site))
    addRow(`${site.match} from `, site.a_site ?? '');
  if (site.through !== null) addRow('through ', site.through);
  if (!isExplained) return rows;
  const callers = site.callers.filter(({ delta_bytes }) => delta_bytes !== 0);
  for (const caller of callers.slice(0, 2)) addRow(`${signedBytes(caller.delta_bytes)} `, caller.caller);
  return rows;
}

/** Directories go first, then the beginning of the function; of words, the end. */
function fitSite(site: string, width: number): string {
  if (site.length <= width) return site;
  if (site.startsWith('(')) return `${site.slice(0, width - 1)}…`;
  if (site.endsWith(')')) return keepEnds(site, width);
  const [, name, file] = /^(\S+) .*\/([^/]+)$/.exec(site) ?? [];
  return keepEnd(name === undefined ? site : `${name} …/${file}`, width);
}

/** `key: a → b`, a line each, `limit` of them. */
export function changedLines(title: string, values: readonly ChangedValue[], limit: number): string[] {
  if (values.length === 0) return [];
  const lines = values
    .slice(0, limit)
    .flatMap((one) => paragraph(`  ${keepEnd(printable(one.key), 60)}: ${valueWords(one.a)} → ${valueWords(one.b)}`));
  const more = values.length - limit;
  return ['', title, ...lines, ...(more > 0 ? [`  ${formatCount(more)} more; --json shows all`] : [])];
}

/** Null is what a side does not set. */
export function valueWords(value: string | null): string {
  if (value === null) return '(not set)';
  return value === '' ? '(empty)' : shortText(value, VALUE);
}

/** Under the place: after number and score. */
const SUSPECT_INDENT = ' '.repeat(13);
const KEYS_SHOWN = 8;

/** The suspects of a comparison, and what else differs between its runs. */
export type Suspected = Pick<CompareResult, 'suspects' | 'config' | 'env'>;

/** `limit` of them, the likeliest first, with the commits that touch them. */
export function suspectLines({ suspects, config, env }: Suspected, limit: number): string[] {
  if (suspects.length === 0) return [];
  const shown = suspects.slice(0, limit).flatMap((suspect, i) => oneSuspect(suspect, i + 1));
  const more = suspects.length - limit;
  return [
    '   #  score  suspect',
    ...shown,
    ...(more > 0 ? [`  ${formatCount(more)} more; --json shows all`] : []),
    ...alsoChangedLines({ suspects, config, env }),
  ];
}

/** Settings and variables that differ without being a suspect. */
function alsoChanged({ suspects, config, env }: Suspected): string[] {
  const named = new Set(suspects.map(({ key }) => key));
  return [...env, ...config].map(({ key }) => key).filter((key) => !named.has(key));
}

function alsoChangedLines(result: Suspected): string[] {
  const text = alsoChangedText(result);
  return text === '' ? [] : wrapped(`  ${text}`, '    ');
}

/** Empty where there is none. */
export function alsoChangedText(result: Suspected): string {
  const keys = alsoChanged(result);
  const shown = keys.slice(0, KEYS_SHOWN).map((key) => keepEnd(printable(key), 60));
  const more = keys.length - shown.length;
  if (keys.length === 0) return '';
  return `also changed, not suspected: ${shown.join(', ')}${more > 0 ? ` and ${formatCount(more)} more` : ''}`;
}

function oneSuspect(suspect: Suspect, number: number): string[] {
  const under = (text: string): string[] => wrapped(`${SUSPECT_INDENT}${text}`, SUSPECT_INDENT);
  const hunkWidth = screen.width - SUSPECT_INDENT.length;
  const [place, hunk] = placeOf(suspect);
  const fits = place.length + hunk.length + 2 <= hunkWidth;
  const head = `  ${String(number).padStart(2)}  ${suspect.score.toFixed(2).padStart(5)}  `;
  const commits = suspect.commits.slice(0, COMMITS_SHOWN);
  const more = suspect.commits.length - commits.length;
  return [
    `${head}${fits && hunk !== '' ? `${place}  ${hunk}` : keepEnd(place, hunkWidth)}`,
    ...(fits || hunk === '' ? [] : [`${SUSPECT_INDENT}${shortText(hunk, hunkWidth)}`]),
    ...under(shortText(suspect.reason, 400)),
    ...suspect.lines.slice(0, LINES_SHOWN).map((line) => `${SUSPECT_INDENT}  ${codeLine(line)}`),
    ...commits.map(({ sha, subject }) => `${SUSPECT_INDENT}${shortText(`${shortCommit(sha)} ${subject}`, hunkWidth)}`),
    ...(more > 0 ? [`${SUSPECT_INDENT}and ${formatCount(more)} more ${more === 1 ? 'commit' : 'commits'}`] : []),
  ];
}

/** File and hunk, or key and file. */
export function placeOf({ file, hunk, key }: Suspect): [place: string, hunk: string] {
  if (key !== undefined) return [printable(file === '' ? key : `${key} (${file})`), ''];
  return [printable(file), hunk === undefined ? '' : printable(hunk)];
}

function codeLine(line: string): string {
  return printable(line.replaceAll('\t', '  ')).trimEnd();
}
