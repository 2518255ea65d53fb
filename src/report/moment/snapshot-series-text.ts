/** The dumps of each rank in the order of time. */
import { pushAll } from '../../model/lists.js';
import type { SeriesSnapshot, SnapshotSeries, SnapshotSeriesResult } from '../../model/results/snapshot-series.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { fitLabels, keepEnd, left, printable, right, tableOf } from '../table.js';
import { counted, countOr, grouped, paragraph, rankName, signedBytes, UNKNOWN } from '../text-pieces.js';

/** Between dumps; a run that dumps every step has hundreds. */
const MOST_LINES = 8;

export function snapshotSeriesText({ run, series }: SnapshotSeriesResult): string {
  const isLone = ({ rank, snapshots }: SnapshotSeries): boolean => rank === null && snapshots.length === 1;
  const lone = series.filter(isLone);
  const hasSeveral = new Set(lone.map(({ snapshots }) => snapshots[0]!.path)).size > 1;
  const parts = hasSeveral ? series.filter((one) => !isLone(one)) : series;
  const texts = parts.map((one) => seriesText(one, run));
  if (hasSeveral) texts.unshift(loneText(lone, run));
  return `${texts.join('\n\n')}\n`;
}

/** Dumps that no name puts into an order, or to a rank. */
function loneText(lone: readonly SnapshotSeries[], run: string): string {
  const rows = lone.flatMap(({ device, snapshots }) => snapshots.map((snapshot) => ({ device, snapshot })));
  const files = new Set(rows.map(({ snapshot }) => snapshot.path)).size;
  return [
    `run ${printable(run)} · rank unknown · ${counted(files, 'snapshot')}, no series`,
    tableOf(rows, [
      left('file', ({ snapshot }) => keepEnd(printable(snapshot.path), 36)),
      right('device', ({ device }) => device),
      left('trigger', ({ snapshot }) => snapshot.trigger),
      right('events', ({ snapshot }) => countOr(snapshot.events)),
      right('allocated', ({ snapshot }) => formatBytes(snapshot.allocated_bytes)),
      right('reserved', ({ snapshot }) => formatBytes(snapshot.reserved_bytes)),
    ]),
    '',
    ...paragraph('  the names have neither a rank nor a step: these may be of any ranks and moments'),
  ].join('\n');
}

function seriesText(series: SnapshotSeries, run: string): string {
  const { rank, device, snapshots } = series;
  const count = counted(snapshots.length, 'snapshot');
  const order = snapshots.length > 1 ? ` in the order of ${series.order}` : '';
  const who = rankName(rank);
  const lines = [
    `run ${printable(run)} · ${who} · device ${device} · ${count}${order}`,
    snapshotTable(snapshots),
    '',
    ...paragraph(`  ${trendText(series)}`),
    ...firstOf(ringLines(snapshots)).flatMap((line) => paragraph(`  ${line}`)),
  ];
  if (rank === null && snapshots.length > 1) {
    pushAll(lines, paragraph('  no file name has a rank: the files may be of several ranks, so growth is unknown'));
  }
  if (series.sites.length > 0) lines.push('', siteTable(series));
  return lines.join('\n');
}

/** `run/3/snapshot#2` → `#2`: what a reader needs to name it. */
function number({ handle }: SeriesSnapshot): string {
  return handle.slice(handle.lastIndexOf('#'));
}

function snapshotTable(snapshots: readonly SeriesSnapshot[]): string {
  const withPending = snapshots.some((row) => row.active_bytes !== row.allocated_bytes);
  const withAttempts = snapshots.some((row) => row.attempt !== snapshots[0]!.attempt);
  return tableOf(snapshots, [
    right('#', (row) => number(row).slice(1)),
    withAttempts && right('attempt', (row) => row.attempt),
    right('step', (row) => row.step ?? UNKNOWN),
    left('trigger', (row) => row.trigger),
    right('events', (row) => countOr(row.events)),
    right('span', spanText),
    right('allocated', (row) => formatBytes(row.allocated_bytes)),
    withPending && right('active', (row) => formatBytes(row.active_bytes)),
    right('reserved', (row) => formatBytes(row.reserved_bytes)),
    right('inactive', (row) => formatBytes(row.inactive_bytes)),
    right('growth', (row) => (row.growth === null ? UNKNOWN : signedBytes(row.growth.allocated_bytes))),
  ]);
}

function spanText(row: SeriesSnapshot): string {
  if (row.first_time_us === null || row.last_time_us === null) return UNKNOWN;
  return duration(row.last_time_us - row.first_time_us);
}

function duration(us: number): string {
  return us < 10_000_000 ? `${grouped(us / 1000, 1)} ms` : `${grouped(us / 1_000_000, 1)} s`;
}

function trendText({ trend }: SnapshotSeries): string {
  const { kind, snapshots, growth_bytes: growth, growth_per_step_bytes: perStep } = trend;
  if (kind === 'too_few')
    return `${snapshots} comparable ${snapshots === 1 ? 'dump has' : 'dumps have'} no trend: three do`;
  const change =
    growth === null ? '' : ` ${signedBytes(growth)}${perStep === null ? '' : `, ${signedBytes(perStep)} a step`}`;
  const over = `over ${formatCount(snapshots)} comparable dumps`;
  switch (kind) {
    case 'growing':
      return `allocated grows from dump to dump:${change} ${over}`;
    case 'settling':
      return `allocated grows less every time, by half or less:${change} ${over}`;
    case 'plateau':
      return `allocated grew and then stayed:${change} ${over}`;
    case 'steady':
      return `allocated stays:${change} ${over}, within ${formatBytes(trend.tolerance_bytes)} from dump to dump`;
    case 'falling':
      return `allocated falls from dump to dump:${change} ${over}`;
    case 'varied':
      return `allocated rises and falls:${change} ${over}`;
  }
}

function firstOf(lines: readonly string[]): readonly string[] {
  const more = lines.length - MOST_LINES;
  return more <= 0 ? lines : [...lines.slice(0, MOST_LINES), `… ${formatCount(more)} more such lines, all in --json`];
}

/** What is known between two traces: nothing, or what was lost. */
function ringLines(snapshots: readonly SeriesSnapshot[]): string[] {
  const pairs = snapshots.slice(1).map((row, i) => ({ row, before: snapshots[i]! }));
  if (pairs.length > 1 && pairs.every(({ row }) => row.relation === 'continues')) {
    return ['each trace continues the one before: nothing is lost between them'];
  }
  return pairs.flatMap(({ row, before }) => {
    const [one, two] = [number(before), number(row)];
    switch (row.relation) {
      case 'continues':
        return [
          `${two} continues the trace of ${one}: ${formatCount(row.shared_entries ?? 0)} entries in both, ${formatCount(row.new_entries ?? 0)} new`,
        ];
      case 'gap': {
        const { gap_us, active_bytes, reserved_bytes } = row.lost ?? { gap_us: 0, active_bytes: 0, reserved_bytes: 0 };
        const change = `active ${signedBytes(active_bytes)} and reserved ${signedBytes(reserved_bytes)} meanwhile`;
        return [`between ${one} and ${two} the ring lost ${duration(gap_us)} of entries: ${change}`];
      }
      case 'restart':
        return [`${two} begins with an empty device: another process than ${one}`];
      case 'unrelated':
        return [`${one} and ${two} cover one time with different entries: two processes`];
      default:
        return [`whether ${two} continues ${one} unknown: no entries with times in both`];
    }
  });
}

function siteTable({ sites }: SnapshotSeries): string {
  const names = fitLabels(
    sites.map(({ site }) => printable(site)),
    60,
  );
  return tableOf(sites, [
    right('change', (site) => signedBytes(site.bytes)),
    right('blocks', (site) => (site.blocks > 0 ? `+${formatCount(site.blocks)}` : formatCount(site.blocks))),
    right('now', (site) => formatBytes(site.last_bytes)),
    left('call site, first to last comparable dump', (_, i) => names[i]!),
  ]);
}
