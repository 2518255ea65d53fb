/** One figure of many runs as a chart, its change points in words, and the last points as a table. */

import { groupBy } from '../../model/group-by.js';
import { pushAll } from '../../model/lists.js';
import type { HistoryChange, HistoryPoint, HistoryResult } from '../../model/results/history.js';
import { HISTORY_METRICS } from '../../model/results/history.js';
import { formatBytes, formatCount, GIB, KIB, MIB } from '../../model/units.js';
import { left, printable, right, tableOf } from '../table.js';
import { counted, figure, grouped, paragraph, shortText, stepTime, UNKNOWN, wrapped } from '../text-pieces.js';
import { historyChart } from './history-chart.js';

export interface HistoryLook {
  /** Columns of the screen for the chart, its gutter included. */
  readonly width: number;
  /** Nothing but ASCII, for terminals without Unicode. */
  readonly ascii: boolean;
  /** Points to list, the last ones; undefined = all. */
  readonly points: number | undefined;
}

/** Change points described in full, the last ones. */
const MOST_CHANGES = 12;
const SHORT_ID = 7;
/** The largest number of sigmas printed; larger values are meaningless. */
const MOST_SIGMA = 99;

export function historyText(result: HistoryResult, look: HistoryLook): string {
  const { title } = HISTORY_METRICS[result.metric];
  const { points } = result;
  const lines = paragraph(`${title} by ${result.by} · ${countsOf(result)}`);
  if (points.length > 0) {
    pushAll(lines, ['', ...chartOf(result, look), '', ...changeLines(result), '', pointTable(result, look.points)]);
    const hidden = points.length - (look.points ?? points.length);
    if (hidden > 0) lines.push(`${formatCount(hidden)} earlier points not listed; --limit 0 lists all`);
  }
  const notes = [...result.notes, ...leftOutWords(result)];
  if (notes.length > 0) pushAll(lines, ['', ...notes.flatMap((note) => wrapped(printable(note), '  '))]);
  const text = `${lines.join('\n')}\n`;
  return look.ascii ? plain(text) : text;
}

const PLAIN: Readonly<Record<string, string>> = {
  '·': '-',
  '–': '-',
  '—': '-',
  '…': '...',
  '→': '->',
  '≥': '>=',
  '≈': '~',
  '±': '+-',
  '▲': '^',
  ' σ': ' sigma',
  '×': 'x',
};

function plain(text: string): string {
  return text.replace(/ σ|[·–—…→≥≈±▲×]/g, (sign) => PLAIN[sign]!);
}

function countsOf({ points, by, left_out, noise, unit }: HistoryResult): string {
  const runs = points.reduce((sum, point) => sum + point.runs, 0);
  const dead = points.filter(({ ending }) => ending !== 'ok');
  const ooms = dead.filter(({ ending }) => ending === 'oom').length;
  return [
    by === 'commit' ? `${counted(points.length, 'commit')}, ${counted(runs, 'run')}` : counted(runs, 'run'),
    ...(dead.length === 0 ? [] : [`${formatCount(dead.length)} died (${formatCount(ooms)} out of memory)`]),
    ...(noise === null ? [] : [`noise ± ${valueText(noise, unit)}`]),
    ...(left_out.length === 0 ? [] : [`${counted(left_out.length, 'run')} left out`]),
  ].join(' · ');
}

function chartOf(result: HistoryResult, look: HistoryLook): string[] {
  const { points, change_points, unit } = result;
  const dead = points.flatMap(({ ending }, index) => (ending === 'ok' ? [] : [{ index, sign: '×' }]));
  const named = [0, ...change_points.map(({ index }) => index), points.length - 1];
  return historyChart({
    bars: points.map(({ value, low, high, ending, is_lower_bound }) => ({
      low: is_lower_bound ? value : low,
      high,
      isDead: ending !== 'ok',
      isLowerBound: is_lower_bound,
    })),
    width: look.width,
    ascii: look.ascii,
    scale: scaleOf(points, unit),
    lanes: [
      ...(change_points.length === 0
        ? []
        : [{ title: 'change', marks: change_points.map(({ index }) => ({ index, sign: '▲' })) }]),
      ...(dead.length === 0 ? [] : [{ title: 'died', marks: dead }]),
    ],
    labels: [...new Set(named)].map((index) => ({ index, text: shortName(result, index) })),
  });
}

function scaleOf(points: readonly HistoryPoint[], unit: HistoryResult['unit']): { factor: number; name: string } {
  if (unit === 'bytes') {
    const most = points.reduce((max, { high }) => Math.max(max, high), 0);
    if (most >= GIB) return { factor: 1 / GIB, name: 'GiB' };
    if (most >= MIB) return { factor: 1 / MIB, name: 'MiB' };
    return most >= KIB ? { factor: 1 / KIB, name: 'KiB' } : { factor: 1, name: 'B' };
  }
  return { factor: 1, name: { ms: 'ms', 'TFLOP/s/GPU': 'TFLOP/s', count: 'count', '1': '' }[unit] };
}

function changeLines(result: HistoryResult): string[] {
  const { change_points, drifts, apart: outliers, points, unit } = result;
  const shown = change_points.slice(-MOST_CHANGES);
  const earlier = change_points.length - shown.length;
  const lines = [
    ...(earlier > 0 ? [`  ${counted(earlier, 'earlier change')} not shown here; --json has all`] : []),
    ...shown.flatMap((change) => wrapped(changeWords(change, result), '    ')),
  ];
  for (const { from, to, before, after } of drifts) {
    const between = `${shortName(result, from)} and ${shortName(result, to)}`;
    pushAll(
      lines,
      paragraph(
        `  between ${between} it drifts, without a step: ${valueText(before, unit)} → ${valueText(after, unit)}, ${deltaText(after - before, before, unit)}`,
      ),
    );
  }
  const last = outliers.find(({ index }) => index === points.length - 1);
  if (last !== undefined) {
    const { value } = points.at(-1)!;
    pushAll(
      lines,
      paragraph(
        `  the last point, ${shortName(result, last.index)}, differs: ${valueText(last.level, unit)} → ${valueText(value, unit)}, ${deltaText(value - last.level, last.level, unit)}; one point does not make a change point`,
      ),
    );
  }
  return lines.length > 0 ? lines : [`  no change of ${percent(result.min_change)} or more beyond noise`];
}

function changeWords(change: HistoryChange, { unit, points }: HistoryResult): string {
  const at = points[change.index]!;
  const run = shortText(at.run, 40);
  const who = at.commit === null ? run : `${printable(at.commit.slice(0, SHORT_ID))} (run ${run})`;
  const least = change.is_lower_bound ? 'at least ' : '';
  const sure = change.z === null ? 'no noise seen' : sigmas(Math.abs(change.z));
  const gap =
    change.between === null || change.between === 0 ? '' : `, after ${counted(change.between, 'commit')} not measured`;
  return `  ▲ at ${who}: ${valueText(change.before, unit)} → ${least}${valueText(change.after, unit)}, ${deltaText(change.delta, change.before, unit)}, ${sure}${gap}`;
}

function sigmas(z: number): string {
  return z > MOST_SIGMA ? `over ${MOST_SIGMA} σ` : `${z < 10 ? z.toFixed(1) : Math.round(z)} σ`;
}

function deltaText(delta: number, before: number, unit: HistoryResult['unit']): string {
  const sign = delta > 0 ? '+' : delta < 0 ? '-' : '';
  const share = before === 0 ? '' : ` (${sign}${(100 * Math.abs(delta / before)).toFixed(1)} %)`;
  return `${sign}${valueText(Math.abs(delta), unit)}${share}`;
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(1))} %`;
}

function valueText(value: number, unit: HistoryResult['unit']): string {
  switch (unit) {
    case 'bytes':
      return formatBytes(Math.round(value));
    case 'ms':
      return stepTime(value);
    case 'TFLOP/s/GPU':
      return `${grouped(value, 1)} TFLOP/s/GPU`;
    case 'count':
      return Number.isInteger(value) ? formatCount(value) : figure(value);
    case '1':
      return figure(value);
  }
}

function shortName({ by, points }: HistoryResult, index: number): string {
  const { commit, run } = points[index]!;
  return by === 'run' || commit === null ? shortText(run, 24) : printable(commit.slice(0, SHORT_ID));
}

const ENDINGS = { ok: '', oom: 'out of memory', failed: 'failed' } as const;

function pointTable({ points, change_points, by, unit }: HistoryResult, limit: number | undefined): string {
  const changed = new Set(change_points.map(({ index }) => index));
  const first = limit === undefined ? 0 : Math.max(0, points.length - limit);
  const rows = points.slice(first);
  return tableOf(rows, [
    left('', (_, i) => (changed.has(first + i) ? '▲' : '')),
    rows.some(({ commit }) => commit !== null) &&
      left('commit', ({ commit }) => (commit === null ? UNKNOWN : printable(commit.slice(0, SHORT_ID)))),
    left('run', ({ run }) => shortText(run, 32)),
    rows.some(({ label }) => label !== null) &&
      left('label', ({ label }) => (label === null ? UNKNOWN : shortText(label, 16))),
    right(
      'value',
      (point) => `${point.is_lower_bound ? '≥ ' : point.approximate ? '≈ ' : ''}${valueText(point.value, unit)}`,
    ),
    rows.some(({ low, high }) => low !== high) &&
      right('least and greatest', ({ low, high }) =>
        low === high ? '' : `${valueText(low, unit)} – ${valueText(high, unit)}`,
      ),
    by === 'commit' && rows.some(({ runs }) => runs > 1) && right('runs', ({ runs }) => formatCount(runs)),
    rows.some(({ ending }) => ending !== 'ok') && left('ended', ({ ending }) => ENDINGS[ending]),
  ]);
}

/** Reasons with the number of their runs, and the first few names. */
function leftOutWords({ left_out }: HistoryResult): string[] {
  return [...groupBy(left_out, ({ reason }) => reason)].map(([reason, runs]) => {
    const names = runs
      .slice(0, 3)
      .map(({ run }) => run)
      .join(', ');
    return `left out: ${counted(runs.length, 'run')} (${names}${runs.length > 3 ? ', …' : ''}): ${reason}`;
  });
}
