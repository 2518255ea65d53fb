/** A figure over the commits of many runs: where it changed, as a chart and as tables. Pure. */
import { groupBy } from '../../model/group-by.js';
import {
  HISTORY_METRICS,
  type HistoryChange,
  type HistoryPoint,
  type HistoryResult,
} from '../../model/results/history.js';
import { formatBytes, formatCount, GIB, MIB } from '../../model/units.js';
import { shortCommit } from '../compare/check-words.js';
import { counted, figure, grouped, shortText, stepTime, UNKNOWN } from '../text-pieces.js';
import { notesList } from './compare-html.js';
import { type Child, text, textElement } from './html.js';
import { code, counts, type HtmlColumn, htmlTable, markup, words } from './html-table.js';
import type { PageHead } from './page-head.js';
import { type PageSection, section } from './page-pieces.js';
import { pointChart } from './point-chart.js';

type Unit = HistoryResult['unit'];

/** Points that the table lists, the last ones. */
const MOST_POINTS = 500;

export function historyHead(history: HistoryResult): PageHead {
  const { title } = HISTORY_METRICS[history.metric];
  const last = history.change_points.at(-1);
  const runs = history.points.reduce((sum, point) => sum + point.runs, 0);
  return {
    tone: last === undefined ? 'plain' : last.is_worse ? 'bad' : 'good',
    badge: 'HISTORY',
    places: [`${title} by ${history.by}`, counted(history.points.length, 'point'), counted(runs, 'run')],
    title: last === undefined ? 'no change beyond the noise' : changeTitle(last, history.unit),
    summary: last === undefined ? null : textElement('p', placeOf(last, history), { class: 'summary' }),
    boxes: [],
    below: notesList([...history.notes, ...leftOutTexts(history)]),
  };
}

function changeTitle({ before, after, is_lower_bound: isLeast }: HistoryChange, unit: Unit): string {
  return `${valueText(before, unit)} → ${isLeast ? 'at least ' : ''}${valueText(after, unit)} (${changeText(before, after, unit)})`;
}

function changeText(before: number, after: number, unit: Unit): string {
  const change = after - before;
  const sign = change > 0 ? '+' : change < 0 ? '-' : '';
  const relative = before === 0 ? '' : `, ${sign}${(100 * Math.abs(change / before)).toFixed(1)} %`;
  return `${sign}${valueText(Math.abs(change), unit)}${relative}`;
}

function placeOf({ commit, run, between, z }: HistoryChange, { points }: HistoryResult): string {
  const at = points.find((point) => point.run === run && point.commit === commit);
  const subject = at?.label === null || at === undefined ? '' : ` (${at.label})`;
  return [
    `the last change is at ${commit === null ? run : `${shortCommit(commit)}, run ${run}`}${subject}`,
    ...(z === null ? [] : [`${Math.abs(z) > 99 ? 'over 99' : Math.abs(z).toFixed(1)} σ`]),
    ...(between === null || between === 0 ? [] : [`after ${counted(between, 'commit')} that were not measured`]),
  ].join('; ');
}

/** Reasons with the number of their runs. */
function leftOutTexts({ left_out: left }: HistoryResult): string[] {
  return [...groupBy(left, ({ reason }) => reason)].map(
    ([reason, runs]) => `left out: ${counted(runs.length, 'run')}: ${reason}`,
  );
}

function valueText(value: number, unit: Unit): string {
  if (unit === 'bytes') return formatBytes(Math.round(value));
  if (unit === 'ms') return stepTime(value);
  if (unit === 'TFLOP/s/GPU') return `${grouped(value, 1)} TFLOP/s/GPU`;
  return unit === 'count' && Number.isInteger(value) ? formatCount(value) : figure(value);
}

/** Labels of an axis are short: one unit for all. */
function axisOf(points: readonly HistoryPoint[], unit: Unit): { unit: number; format: (value: number) => string } {
  if (unit !== 'bytes') return { unit: 1, format: unit === 'ms' ? (value) => `${figure(value)} ms` : figure };
  const most = points.reduce((max, { high }) => Math.max(max, high), 0);
  const [size, name] = most >= GIB ? [GIB, 'GiB'] : [MIB, 'MiB'];
  return { unit: size, format: (value) => `${figure(value / size)} ${name}` };
}

const shortName = ({ by }: HistoryResult, { commit, run }: HistoryPoint): string =>
  by === 'run' || commit === null ? shortText(run, 16) : shortCommit(commit);

export function historySection(history: HistoryResult | null): PageSection | null {
  if (history === null || history.points.length === 0) return null;
  const { points, change_points: changes, unit, metric } = history;
  const changed = new Map(changes.map((change) => [change.index, change]));
  const hasFailures = points.some(({ ending }) => ending !== 'ok');
  return section(
    'history',
    { name: 'History', title: `${HISTORY_METRICS[metric].title} by ${history.by}`, about: orderText(history) },
    pointChart({
      title: HISTORY_METRICS[metric].title,
      ...axisOf(points, unit),
      points: points.map((point, i) => {
        const change = changed.get(i);
        return {
          ...{ name: shortName(history, point), value: point.value },
          ...(point.is_lower_bound ? { low: null, high: null } : { low: point.low, high: point.high }),
          kind: point.ending === 'ok' ? 'point' : 'failed',
          isBound: point.is_lower_bound,
          mark:
            change === undefined
              ? null
              : { text: changeText(change.before, change.after, unit), isWorse: change.is_worse },
          text: `${shortName(history, point)}: ${prefix(point)}${valueText(point.value, unit)}, ${counted(point.runs, 'run')}${point.ending === 'ok' ? '' : `, ${ENDINGS[point.ending]}`}`,
        };
      }),
      legend: hasFailures
        ? [
            { kind: 'point', text: 'came to its end' },
            { kind: 'failed', text: 'failed: a lower bound' },
          ]
        : [],
    }),
    changesTable(history),
    driftTexts(history),
    pointsTable(history, changed),
  );
}

const orderText = ({ order, noise, unit }: HistoryResult): string =>
  `Oldest first, in the order of ${order === 'repository' ? 'the repository' : 'ingestion'}${noise === null ? '' : `; noise ± ${valueText(noise, unit)}`}.`;

const prefix = (point: HistoryPoint): string => (point.is_lower_bound ? '≥ ' : point.approximate ? '≈ ' : '');
const ENDINGS = { ok: '', oom: 'out of memory', failed: 'failed' } as const;

/** A column of values; those of bytes carry them exactly. */
function values<Row>(
  title: string,
  unit: Unit,
  of: (row: Row) => number,
  before?: (row: Row) => string,
): HtmlColumn<Row> {
  return {
    title,
    kind: null,
    cell: (row) => ({
      content: text(`${before?.(row) ?? ''}${valueText(of(row), unit)}`),
      attributes: { [unit === 'bytes' ? 'data-bytes' : 'data-value']: of(row) },
    }),
  };
}

function changesTable({ change_points: changes, unit }: HistoryResult): Child {
  return htmlTable(
    changes,
    [
      code('commit', ({ commit }) => (commit === null ? null : shortCommit(commit))),
      words('run', ({ run }) => run),
      values('before', unit, (change) => change.before),
      values(
        'after',
        unit,
        (change) => change.after,
        (change) => (change.is_lower_bound ? '≥ ' : ''),
      ),
      words('change', ({ before, after }) => changeText(before, after, unit)),
      words('', ({ is_worse: isWorse }) => (isWorse ? 'worse' : 'better')),
    ],
    { caption: 'Change points' },
  );
}

function driftTexts(history: HistoryResult): Child {
  const { drifts, points, unit } = history;
  const outliers = history['apart'];
  const nameOf = (i: number): string => shortName(history, points[i]!);
  const texts = [
    ...drifts.map(
      ({ from, to, before, after }) =>
        `between ${nameOf(from)} and ${nameOf(to)} it drifts, without a step: ${changeText(before, after, unit)}`,
    ),
    ...outliers.map(
      ({ index, level }) =>
        `${nameOf(index)} differs: ${changeText(level, points[index]!.value, unit)}; one point does not make a change point`,
    ),
  ];
  return notesList(texts);
}

function pointsTable({ points, unit, by }: HistoryResult, changed: ReadonlyMap<number, HistoryChange>): Child {
  const from = Math.max(0, points.length - MOST_POINTS);
  const rows = points.slice(from);
  return htmlTable(
    rows,
    [
      markup('', (_, i) => changed.has(from + i) && textElement('span', '▲', { title: 'change point' })),
      by === 'commit' && code('commit', ({ commit }) => (commit === null ? null : shortCommit(commit))),
      words('run', ({ run }) => run),
      rows.some(({ label }) => label !== null) && words('label', ({ label }) => label ?? UNKNOWN),
      values('value', unit, (point) => point.value, prefix),
      rows.some(({ low, high }) => low !== high) && values('least', unit, (point) => point.low),
      rows.some(({ low, high }) => low !== high) && values('greatest', unit, (point) => point.high),
      counts('runs', (point) => point.runs),
      words('ended', ({ ending }) => ENDINGS[ending]),
    ],
    { caption: 'Points', note: from === 0 ? null : `${formatCount(from)} earlier points not listed` },
  );
}
