/**
 * Peaks of all ranks as heat maps: a row for each pipeline stage, a cell for each rank. Allocated and reserved have one
 * scale. The table lists the same figures. Pure.
 */
import { groupBy } from '../../model/group-by.js';
import { maxOf, minOf, sumOf } from '../../model/lists.js';
import type { DiagnoseResult } from '../../model/results/common.js';
import type { ReportRank } from '../../model/results/report.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { column, count, counts, t, table } from '../document/document.js';
import { shadeClass, tableHtml } from '../render/html.js';
import { rankPhrases } from '../start/ranks-text.js';
import { byteRange } from '../text-pieces.js';
import { type Child, element, type SafeHtml, text, textElement, textList, trusted } from './html.js';
import { type PageSection, section, twin } from './page-pieces.js';

/** Cells in one line; a longer row is wrapped. */
const LINE = 64;
/** Above this number cells are drawn without titles, and the table lists the fullest ranks only. */
const MOST_RANKS = 2_048;
const MOST_ROWS = 256;
/** Pixels. */
const GUTTER = 44;
/** Of a map: two fit next to each other. */
const MOST_WIDTH = 620;
/** Pixels of all lines, of a cell, and of a title. */
const MOST_HEIGHT = 560;
const LEAST_SIZE = 6;
const MOST_SIZE = 46;
const TITLE_HEIGHT = 13;
/** Smaller cells have smaller names of stages. */
const SMALL = 14;

interface Metric {
  readonly title: string;
  readonly of: (rank: ReportRank) => number | null;
}

const ALLOCATED: Metric = { title: 'peak allocated', of: (rank) => rank.peak_allocated_bytes };
const RESERVED: Metric = { title: 'peak reserved', of: (rank) => rank.peak_reserved_bytes };
const BETWEEN: Metric = {
  title: 'peak reserved − peak allocated',
  of: ({ peak_reserved_bytes: reserved, peak_allocated_bytes: allocated }) =>
    reserved === null || allocated === null ? null : reserved - allocated,
};

export function ranksSection(ranks: readonly ReportRank[], diagnosis: DiagnoseResult | null): PageSection | null {
  if (ranks.length < 2) return null;
  const rows = rowsOf(ranks);
  const both = [...valuesOf(ranks, ALLOCATED), ...valuesOf(ranks, RESERVED)];
  const isStaged = ranks.some(({ stage }) => stage !== null);
  return section(
    'ranks',
    {
      name: 'Ranks',
      title: `Ranks: ${formatCount(ranks.length)}`,
      about: `Peaks by rank${isStaged ? ', a row for each pipeline stage' : ''}. ${crossText(ranks)}`,
    },
    diagnosis !== null && textList(rankPhrases(diagnosis), { class: 'phrases' }),
    element('div', { class: 'maps' }, [
      heatMap(rows, ALLOCATED, both),
      heatMap(rows, RESERVED, both),
      heatMap(rows, BETWEEN, valuesOf(ranks, BETWEEN)),
    ]),
    rankTable(ranks),
  );
}

function crossText(ranks: readonly ReportRank[]): string {
  const failed = ranks.filter(({ ooms }) => (ooms ?? 0) > 0).length;
  const unknown = ranks.filter(({ ooms }) => ooms === null).length;
  const more =
    unknown === 0
      ? ''
      : ` Whether ${unknown === 1 ? 'another one' : `${formatCount(unknown)} others`} did is not known.`;
  if (failed === 0) return unknown === 0 ? 'No rank ran out of memory.' : 'Which ranks ran out of memory is not known.';
  return `A cross marks the ${failed === 1 ? 'rank' : `${formatCount(failed)} ranks`} that ran out of memory.${more}`;
}

const valuesOf = (ranks: readonly ReportRank[], metric: Metric): number[] =>
  ranks.flatMap((rank) => metric.of(rank) ?? []);

interface HeatRow {
  readonly title: string;
  readonly ranks: readonly ReportRank[];
}

/** Stages in order; ranks of unknown stages last. */
function rowsOf(ranks: readonly ReportRank[]): HeatRow[] {
  const byRank = ranks.toSorted((a, b) => a.rank - b.rank);
  const stages = [...groupBy(byRank, ({ stage }) => stage)].sort(([a], [b]) => (a ?? Infinity) - (b ?? Infinity));
  return stages.map(([stage, members]) => ({ title: stage === null ? '' : `PP${stage}`, ranks: members }));
}

interface Cell {
  readonly rank: ReportRank;
  readonly x: number;
  readonly y: number;
}

/** One metric; nothing without values. `scaled`: the values that the scale is for. */
function heatMap(rows: readonly HeatRow[], metric: Metric, scaled: readonly number[]): Child {
  const known = rows.flatMap(({ ranks }) => valuesOf(ranks, metric));
  if (known.length === 0) return null;
  const columns = Math.min(LINE, maxOf(rows.map(({ ranks }) => ranks.length)));
  const left = rows.some(({ title }) => title !== '') ? GUTTER : 0;
  const lines = sumOf(rows.map(({ ranks }) => Math.ceil(ranks.length / LINE)));
  const fitting = Math.min(Math.floor((MOST_WIDTH - left) / columns), Math.floor(MOST_HEIGHT / lines));
  const size = Math.max(LEAST_SIZE, Math.min(MOST_SIZE, fitting));
  // Titles of low lines would overlap.
  const stride = Math.ceil(TITLE_HEIGHT / size);
  const cells: Cell[] = [];
  const titles: SafeHtml[] = [];
  let line = 0;
  for (const { title, ranks } of rows) {
    if (title !== '' && line % stride === 0)
      titles.push(textElement('text', title, { x: GUTTER - 6, y: (line + 0.5) * size + 3, 'text-anchor': 'end' }));
    ranks.forEach((rank, i) => {
      cells.push({ rank, x: left + (i % LINE) * size, y: (line + Math.floor(i / LINE)) * size });
    });
    line += Math.ceil(ranks.length / LINE);
  }
  const [width, height] = [left + columns * size + 1, line * size + 1];
  const range = byteRange(known);
  return element(
    'figure',
    { class: 'heat' },
    element('figcaption', {}, textElement('b', metric.title), text(` ${range}`)),
    element(
      'svg',
      {
        ...{ width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' },
        class: size < SMALL ? 'cells small' : 'cells',
        'aria-label': `${metric.title} of ${formatCount(known.length)} ranks: ${range}`,
      },
      titles,
      cellsHtml(cells, size, metric, [minOf(scaled), maxOf(scaled)]),
      crosses(cells, size),
    ),
    textElement('p', `Colours from ${byteRange(scaled)}; darker is more.`, { class: 'scale' }),
  );
}

/**
 * Cells of one colour together. Up to {@link MOST_RANKS} each has its title. They are written without the builder: a
 * page may have 6,000 of them, and all parts are numbers and words of our own.
 */
function cellsHtml(cells: readonly Cell[], size: number, metric: Metric, [least, most]: [number, number]): Child {
  const side = size - 1;
  const outline = ({ x, y }: Cell): string => `M${x} ${y}h${side}v${side}h-${side}z`;
  const shadeOf = ({ rank }: Cell): string => {
    const value = metric.of(rank);
    return value === null ? 'qn' : shadeClass(most === least ? 0 : (value - least) / (most - least));
  };
  const titled = (cell: Cell): SafeHtml => {
    const value = metric.of(cell.rank);
    const title = `rank ${cell.rank.rank}: ${value === null ? 'unknown' : formatBytes(value)}`;
    return trusted(`<path d="${outline(cell)}"><title>${title}</title></path>`);
  };
  return [...groupBy(cells, shadeOf)].map(([shade, members]) =>
    cells.length > MOST_RANKS
      ? element('path', { class: shade, d: members.map(outline).join('') })
      : element('g', { class: shade }, members.map(titled)),
  );
}

/** Over the cells of ranks that ran out of memory. */
function crosses(cells: readonly Cell[], size: number): Child {
  const failed = cells.filter(({ rank }) => (rank.ooms ?? 0) > 0);
  if (failed.length === 0) return null;
  const arm = size - 4;
  const d = failed.map(({ x, y }) => `M${x + 2} ${y + 2}l${arm} ${arm}m0 -${arm}l-${arm} ${arm}`).join('');
  return [element('path', { class: 'cross halo', d }), element('path', { class: 'cross', d })];
}

function rankTable(ranks: readonly ReportRank[]): Child {
  const isCut = ranks.length > MOST_RANKS;
  const fullness = (rank: ReportRank): number => RESERVED.of(rank) ?? ALLOCATED.of(rank) ?? -1;
  const rows = isCut
    ? ranks.toSorted((a, b) => fullness(b) - fullness(a) || a.rank - b.rank).slice(0, MOST_ROWS)
    : ranks.toSorted((a, b) => a.rank - b.rank);
  const shown = table(
    rows,
    [
      counts('rank', ({ rank }) => rank),
      ranks.some(({ stage }) => stage !== null) && column('stage', ({ stage }) => (stage === null ? '' : `PP${stage}`)),
      column('peak_allocated_bytes', ALLOCATED.of),
      column('peak_reserved_bytes', RESERVED.of),
      column('difference_bytes', BETWEEN.of),
      counts('OOMs', ({ ooms }) => (ooms === 0 ? '' : ooms)),
    ],
    {
      caption: 'Peaks by rank',
      notes: [
        isCut && t`${count(ranks.length - rows.length)} ranks not listed; the map shows all ${count(ranks.length)}`,
      ],
    },
  );
  return twin(isCut ? `Table: the ${MOST_ROWS} fullest ranks` : 'Table: ranks', shown !== null && tableHtml(shown));
}
