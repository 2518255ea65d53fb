/** The dumps of each rank in the order of time. */

import type { SeriesSnapshot, SnapshotSeries, SnapshotSeriesResult } from '../../model/results/snapshot-series.js';
import * as d from '../document/document.js';
import { wordOf } from '../words/fill.js';
import { textMaker } from '../words/fill-pieces.js';

/** Between dumps; a run that dumps every step has hundreds. */
const MOST_RELATIONS = 8;

export function snapshotSeriesDocument({ schema, run, series }: SnapshotSeriesResult): d.Document {
  const isLone = ({ rank, snapshots }: SnapshotSeries): boolean => rank === null && snapshots.length === 1;
  const lone = series.filter(isLone);
  const hasSeveral = new Set(lone.map(({ snapshots }) => snapshots[0]!.path)).size > 1;
  return d.document(
    schema,
    d.t`run ${d.as('run', d.code(run))}: snapshots in order`,
    hasSeveral && loneSection(lone),
    ...(hasSeveral ? series.filter((one) => !isLone(one)) : series).map(seriesSection),
  );
}

/** Dumps that no name puts into an order, or to a rank. */
function loneSection(lone: readonly SnapshotSeries[]): d.MaybePart {
  const rows = lone.flatMap(({ device, snapshots }) => snapshots.map((snapshot) => ({ ...snapshot, device })));
  return d.section(
    d.t`${d.counted(new Set(rows.map(({ path }) => path)).size, 'snapshot')}, no series`,
    {},
    d.table(
      rows,
      [
        d.names('file', ({ path }) => path),
        ...d.fieldsOf(rows, 'device', 'trigger', 'events', 'allocated_bytes', 'reserved_bytes'),
      ],
      { key: 'lone' },
    ),
    d.note('the names have neither a rank nor a step: these may be of any ranks and moments'),
  );
}

function seriesSection(series: SnapshotSeries): d.MaybePart {
  const { rank, device, snapshots, order } = series;
  return d.section(
    d.t`${rank === null ? '' : d.t`Rank ${rank} · `}device ${device} · ${d.counted(snapshots.length, 'snapshot')}${snapshots.length > 1 ? ` in the order of ${order}` : ''}`,
    { key: 'series', isOneOf: true, fields: { rank, device, order } },
    snapshotTable(snapshots),
    snapshots.length > 1 && d.paragraph(trendText(series)),
    ...relations(snapshots),
    rank === null &&
      snapshots.length > 1 &&
      d.note('no file name has a rank: the files may be of several ranks, so growth is unknown'),
    d.table(
      series.sites,
      [
        d.column('change_bytes', (site) => site.bytes),
        d.column('blocks', (site) => site.blocks, { unit: 'change' }),
        d.column('now_bytes', (site) => site.last_bytes),
        d.names('site', ({ site }) => site, { title: 'call site, first to last comparable dump' }),
      ],
      { key: 'sites' },
    ),
  );
}

/** `run/3/snapshot#2` → `#2`: what a reader needs to name it. */
const textOf = textMaker('moment', 'series');

const number = ({ handle }: SeriesSnapshot): string => handle.slice(handle.lastIndexOf('#'));

const snapshotTable = (snapshots: readonly SeriesSnapshot[]): d.MaybePart =>
  d.table(
    snapshots,
    [
      d.column('handle', (row) => number(row).slice(1), { title: '#', align: 'right' }),
      snapshots.some(({ attempt }) => attempt !== snapshots[0]!.attempt) &&
        d.counts('attempt', ({ attempt }) => attempt, { title: 'launch' }),
      ...d.fieldsOf(snapshots, 'step', 'trigger', 'events'),
      d.column('span_us', ({ first_time_us: first, last_time_us: last }) => first && last && last - first),
      ...d.fieldsOf(snapshots, 'allocated_bytes', 'active_bytes', 'reserved_bytes', 'inactive_bytes'),
      snapshots.length > 1 &&
        d.column('growth_bytes', ({ growth }) => growth?.allocated_bytes ?? null, { unit: 'change_bytes' }),
    ],
    { key: 'snapshots' },
  );

const trendName = wordOf('codes', 'series_trends');

function trendText({ trend }: SnapshotSeries): d.Text {
  const { kind } = trend;
  return kind === 'too_few'
    ? textOf(kind, trend, { trend: 'no trend' })
    : textOf('trend', trend, { trend: trendName(kind) });
}

/** What is known between two traces: nothing, or what was lost. */
function relations(snapshots: readonly SeriesSnapshot[]): d.MaybePart[] {
  const pairs = snapshots.slice(1).map((row, i) => ({ row, before: snapshots[i]! }));
  if (pairs.length > 1 && pairs.every(({ row }) => row.relation === 'continues'))
    return [d.paragraph('each trace continues the one before: nothing is lost between them')];
  const more = pairs.length - MOST_RELATIONS;
  return [
    d.items(pairs.slice(0, MOST_RELATIONS).map(relationText), { key: 'relations' }),
    more > 0 && d.note(d.t`${d.counted(more, 'more such line')}: --json=full lists all`),
  ];
}

const relationText = ({ row, before }: { readonly row: SeriesSnapshot; readonly before: SeriesSnapshot }): d.Text =>
  textOf(row.relation ?? 'unknown', row, { one: number(before), two: number(row) });
