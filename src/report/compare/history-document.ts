/** One figure of many runs as a chart, its change points, and the last points. */
import { groupBy } from '../../model/group-by.js';
import {
  HISTORY_METRICS,
  type HistoryChange,
  type HistoryPoint,
  type HistoryResult,
} from '../../model/results/history.js';
import { formatBytes, formatCount, GIB, KIB, MIB } from '../../model/units.js';
import * as d from '../document/document.js';
import { counted, figure, grouped, stepTime } from '../text-pieces.js';
import { shortCommit } from './check-words.js';
import { moreNote, notesSection } from './difference.js';
import { historyChart } from './history-chart.js';

type Unit = HistoryResult['unit'];

export interface HistoryLook {
  /** Nothing but ASCII, for terminals without Unicode. */
  readonly ascii: boolean;
  /** Points to list, the last ones; undefined = all. */
  readonly points: number | undefined;
}

/** Change points described, the last ones. */
const MOST_CHANGES = 12;
/** The largest number of sigmas printed; larger values are meaningless. */
const MOST_SIGMA = 99;

export function historyDocument(result: HistoryResult, look: HistoryLook): d.Document {
  const { schema, metric, unit, by, order, points, noise, min_change, notes } = result;
  return {
    ...d.document(
      schema,
      `${HISTORY_METRICS[metric].title} by ${by} · ${countsOf(result)}`,
      points.length > 0 && chartOf(result, look.ascii),
      points.length > 0 && changeSection(result),
      pointTable(result, look.points),
      notesSection([...notes, ...leftOutWords(result)]),
    ),
    isAscii: look.ascii,
    fields: { metric, unit, by, order, noise, min_change },
  };
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

function chartOf(result: HistoryResult, ascii: boolean): d.Drawing {
  const { points, change_points, unit } = result;
  const dead = points.flatMap(({ ending }, index) => (ending === 'ok' ? [] : [{ index, sign: '×' }]));
  const changes = change_points.map(({ index }) => ({ index, sign: '▲' }));
  const named = new Set([0, ...change_points.map(({ index }) => index), points.length - 1]);
  const lines = (width: number): string[] =>
    historyChart({
      bars: points.map(({ value, low, high, ending, is_lower_bound }) => ({
        low: is_lower_bound ? value : low,
        high,
        isDead: ending !== 'ok',
        isLowerBound: is_lower_bound,
      })),
      ...{ width, ascii, scale: scaleOf(points, unit) },
      lanes: [
        { title: 'change', marks: changes },
        { title: 'died', marks: dead },
      ].filter(({ marks }) => marks.length > 0),
      labels: [...named].map((index) => ({ index, text: shortName(result, index) })),
    });
  return { type: 'drawing', lines };
}

/** One unit for all labels of an axis. */
export function scaleOf(
  points: readonly HistoryPoint[],
  unit: Unit,
): { readonly factor: number; readonly name: string } {
  if (unit !== 'bytes')
    return { factor: 1, name: { ms: 'ms', 'TFLOP/s/GPU': 'TFLOP/s', count: 'count', '1': '' }[unit] };
  const most = points.reduce((max, { high }) => Math.max(max, high), 0);
  if (most >= GIB) return { factor: 1 / GIB, name: 'GiB' };
  if (most >= MIB) return { factor: 1 / MIB, name: 'MiB' };
  return most >= KIB ? { factor: 1 / KIB, name: 'KiB' } : { factor: 1, name: 'B' };
}

function changeSection(result: HistoryResult): d.MaybePart {
  const { change_points: changes, drifts, apart: outliers, points, unit, min_change: least } = result;
  const level = (before: number, after: number): string =>
    `${valueText(before, unit)} → ${valueText(after, unit)}, ${changeText(before, after, unit)}`;
  const last = outliers.find(({ index }) => index === points.length - 1);
  const texts = [
    ...drifts.map(
      ({ from, to, before, after }) =>
        `between ${shortName(result, from)} and ${shortName(result, to)} it drifts, without a step: ${level(before, after)}`,
    ),
    ...(last === undefined
      ? []
      : [
          `the last point, ${shortName(result, last.index)}, differs: ${level(last.level, points.at(-1)!.value)}; one point does not make a change point`,
        ]),
  ];
  const none = d.note(`no change of ${Number((100 * least).toFixed(1))} % or more beyond noise`, { key: 'no_change' });
  return d.section(
    'Change points',
    {},
    changes.length + texts.length === 0 && none,
    changeTable(changes, unit),
    d.items(texts, { key: 'drifts' }),
  );
}

const RIGHT = { align: 'right' } as const;

const changeTable = (changes: readonly HistoryChange[], unit: Unit): d.MaybePart =>
  d.table(
    changes.slice(-MOST_CHANGES),
    [
      changes.some(({ commit }) => commit !== null) &&
        d.names('commit', ({ commit }) => (commit === null ? null : shortCommit(commit))),
      d.names('run', ({ run }) => run),
      d.column('before', ({ before }) => valueCell(before, unit), RIGHT),
      d.column('after', (change) => valueCell(change.after, unit, change.is_lower_bound ? '≥ ' : ''), RIGHT),
      d.column('delta', (change) => d.shownAs(change.delta, signedText(change.delta, unit)), {
        title: 'change',
        ...RIGHT,
      }),
      d.column('relative', (change) => d.shownAs(change.relative, relativeText(change.relative)), {
        title: '',
        ...RIGHT,
      }),
      d.column('z', ({ z }) => d.shownAs(z, z === null ? 'no noise seen' : sigmas(Math.abs(z))), {
        title: 'noise',
        ...RIGHT,
      }),
      d.column('effect', (change) => (change.is_worse ? d.mark('worse', 'bad') : d.mark('better', 'good')), {
        title: '',
      }),
    ],
    {
      key: 'change_points',
      under: ({ between }) =>
        between === null || between === 0 ? [] : [`after ${counted(between, 'commit')} not measured`],
      fields: ({ index, commit, previous_commit, is_worse, is_lower_bound, between }) => ({
        ...{ index, commit, previous_commit, is_worse, is_lower_bound, between },
      }),
      notes: [moreNote(changes.length - MOST_CHANGES)],
    },
  );

const sigmas = (z: number): string =>
  z > MOST_SIGMA ? `over ${MOST_SIGMA} σ` : `${z < 10 ? z.toFixed(1) : Math.round(z)} σ`;

export function valueText(value: number, unit: Unit): string {
  if (unit === 'bytes') return formatBytes(Math.round(value));
  if (unit === 'ms') return stepTime(value);
  if (unit === 'TFLOP/s/GPU') return `${grouped(value, 1)} TFLOP/s/GPU`;
  return unit === 'count' && Number.isInteger(value) ? formatCount(value) : figure(value);
}

const valueCell = (value: number, unit: Unit, prefix = ''): d.Cell =>
  d.shownAs(value, `${prefix}${valueText(value, unit)}`, unit === 'bytes' ? 'bytes' : null);

const signOf = (value: number): string => (value > 0 ? '+' : value < 0 ? '-' : '');
const signedText = (delta: number, unit: Unit): string => `${signOf(delta)}${valueText(Math.abs(delta), unit)}`;
const relativeText = (share: number | null): string =>
  share === null ? '' : `${signOf(share)}${(100 * Math.abs(share)).toFixed(1)} %`;

/** `+4.70 GiB (+8.5 %)`. */
export function changeText(before: number, after: number, unit: Unit): string {
  const share = before === 0 ? '' : ` (${relativeText((after - before) / Math.abs(before))})`;
  return `${signedText(after - before, unit)}${share}`;
}

export function shortName({ by, points }: HistoryResult, index: number): string {
  const { commit, run } = points[index]!;
  return by === 'run' || commit === null ? run : shortCommit(commit);
}

export const prefixOf = (point: HistoryPoint): string => (point.is_lower_bound ? '≥ ' : point.approximate ? '≈ ' : '');
export const ENDINGS = { ok: '', oom: 'out of memory', failed: 'failed' } as const;

function pointTable({ points, change_points, by, unit }: HistoryResult, limit = points.length): d.MaybePart {
  const changed = new Set(change_points.map(({ index }) => index));
  const first = Math.max(0, points.length - limit);
  const rows = points.slice(first);
  const hasRange = rows.some(({ low, high }) => low !== high);
  return d.section(
    'Points',
    {},
    d.table(
      rows,
      [
        changed.size > 0 && d.column('mark', (_, i) => (changed.has(first + i) ? '▲' : ''), { title: '' }),
        rows.some(({ commit }) => commit !== null) &&
          d.names('commit', ({ commit }) => (commit === null ? null : shortCommit(commit))),
        d.names('run', ({ run }) => run),
        rows.some(({ label }) => label !== null) && d.column('label', ({ label }) => label),
        d.column('value', (point) => valueCell(point.value, unit, prefixOf(point)), RIGHT),
        hasRange && d.column('low', ({ low }) => valueCell(low, unit), { title: 'least', ...RIGHT }),
        hasRange && d.column('high', ({ high }) => valueCell(high, unit), { title: 'greatest', ...RIGHT }),
        by === 'commit' && rows.some(({ runs }) => runs > 1) && d.counts('runs', ({ runs }) => runs),
        rows.some(({ ending }) => ending !== 'ok') &&
          d.column('ending', ({ ending }) => ENDINGS[ending], { title: 'ended' }),
      ],
      {
        key: 'points',
        fields: ({ commit, ending, is_lower_bound }) => ({ commit, ending, is_lower_bound }),
        notes: [first > 0 && d.t`${first} earlier points not listed; --limit 0 lists all`],
      },
    ),
  );
}

/** Reasons with the number of their runs, and the first few names. */
function leftOutWords({ left_out }: HistoryResult): string[] {
  return [...groupBy(left_out, ({ reason }) => reason)].map(([reason, runs]) => {
    const shown = runs.slice(0, 3).map(({ run }) => run);
    return `left out: ${counted(runs.length, 'run')} (${shown.join(', ')}${runs.length > 3 ? ', …' : ''}): ${reason}`;
  });
}
