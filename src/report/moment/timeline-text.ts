/** The course of a device's memory as a chart, with marks, and the training steps as a table. */

import { groupBy } from '../../model/group-by.js';
import { pushAll } from '../../model/lists.js';
import type {
  TimelineAnnotation,
  TimelineColumn,
  TimelineDevice,
  TimelinePeak,
  TimelineResult,
  TimelineTrace,
} from '../../model/results/timeline.js';
import { formatBytes, formatCount } from '../../model/units.js';
import {
  type ChartColumn,
  type ChartLane,
  type ChartMark,
  type ChartScale,
  chart,
  chartSigns,
  GUTTER,
} from '../chart.js';
import { nvtxLines } from '../run/nvtx-lines.js';
import { duration, stepLines } from '../run/step-table.js';
import { csvLine } from '../store/sql-text.js';
import { keepEnd, printable } from '../table.js';
import { bytesOr, clock, counted, paragraph, rankName, wrapped } from '../text-pieces.js';
import { componentRows } from './component-chart.js';

export interface TimelineLook {
  /** Columns of the screen for the chart, its gutter included. */
  readonly width: number;
  /** Rows of the chart. */
  readonly height: number;
  /** Nothing but ASCII, for terminals without Unicode. */
  readonly ascii: boolean;
  /** Steps to list; undefined = all. */
  readonly steps: number | undefined;
}

export function timelineText(result: TimelineResult, look: TimelineLook): string {
  const text = `${result.snapshots
    .map((snapshot) => {
      const rank = rankName(snapshot.rank);
      return [
        `${printable(snapshot.path)} · ${rank}`,
        ...snapshot.devices.map((device) => deviceLines(device, look).join('\n')),
        ...snapshot.left_out.flatMap(({ device, reason }) => [
          '',
          ...paragraph(`device ${device} left out: ${reason}`),
        ]),
      ].join('\n');
    })
    .join('\n\n')}\n`;
  return look.ascii ? plain(text) : text;
}

const PLAIN: Readonly<Record<string, string>> = { '·': '-', '–': '-', '—': '-', '…': '...', '×': 'x' };

function plain(text: string): string {
  return text.replace(/[·–—…×]/g, (sign) => PLAIN[sign]!);
}

function deviceLines(device: TimelineDevice, look: TimelineLook): string[] {
  const { trace, dump } = device;
  if (trace === null)
    return [
      '',
      ...paragraph(
        `device ${device.device}: no trace recorded; at the dump ${formatBytes(dump.active_bytes)} active of ${formatBytes(dump.reserved_bytes)} reserved`,
      ),
    ];
  const drawn = chart({
    columns: chartColumns(trace),
    width: look.width,
    height: look.height,
    ascii: look.ascii,
    lanes: lanes(trace),
    scales: scales(trace),
  });
  return [
    '',
    ...headLines(device.device, trace),
    ...drawn,
    '',
    `  ${areaLegend(drawn.slice(0, look.height + 1).join(''), look.ascii)}`,
    ...legendLines(trace),
    ...componentLines(trace, look),
    ...stepLines(trace, look.steps),
  ];
}

/** The same columns again, in letters of what they are made of. */
function componentLines({ components, columns, column_count }: TimelineTrace, look: TimelineLook): string[] {
  if (components === undefined || components.components.length === 0) return [];
  const byColumn = new Map(columns.map(({ column }, i) => [column, components.bytes[i]!]));
  let held = components.bytes[0]!;
  const bytes = Array.from({ length: column_count }, (_, i) => {
    held = byColumn.get(i) ?? held;
    return held;
  });
  const width = Math.max(1, look.width - GUTTER);
  const { rows, topBytes, legend } = componentRows({ ...components, bytes }, width, look.height);
  const { axis, tick, corner, floor } = chartSigns(look.ascii);
  return [
    '',
    ...rows.map((row, i) =>
      i === 0
        ? `${formatBytes(topBytes)
            .replace(/ (.).*$/, '$1')
            .slice(0, GUTTER - 2)
            .padStart(GUTTER - 2)} ${tick}${row}`
        : `${' '.repeat(GUTTER - 1)}${axis}${row}`,
    ),
    `${'0'.padStart(GUTTER - 2)} ${corner}${floor.repeat(width)}`,
    ...wrapped(look.ascii ? legend.replaceAll('≤', '<=') : legend, '  ').map((line, i) =>
      i === 0 ? `  ${line}` : line,
    ),
  ];
}

function headLines(device: number, trace: TimelineTrace): string[] {
  const { range } = trace;
  const shown = range.last_seq - range.first_seq + 1;
  const entries = trace.zoomed
    ? `entries ${formatCount(range.first_seq)} to ${formatCount(range.last_seq)} of ${formatCount(trace.entries)}`
    : counted(trace.entries, 'entry', 'entries');
  const time =
    range.first_time_us === null || range.last_time_us === null
      ? 'no times recorded'
      : `${duration(range.last_time_us - range.first_time_us)} from ${clock(range.first_time_us)} UTC`;
  const slice =
    trace.by === 'time'
      ? 'by time'
      : shown > trace.column_count
        ? `${formatCount(Math.ceil(shown / trace.column_count))} entries a column`
        : 'each entry has its column';
  const basis = trace.basis === 'actual' ? '' : ' · approximate: the trace contradicts itself';
  return paragraph(`device ${device} · ${entries} · ${time} · ${slice}${basis}`);
}

/**
 * One chart column for each slice; a slice without a row holds the one before it. A free is two entries, and a slice
 * that begins between them shows the block as pending: that is only waiting if it was not allocated in the slice
 * before.
 */
function chartColumns(trace: TimelineTrace): ChartColumn[] {
  const bySlice = new Map(trace.columns.map((column) => [column.column, column]));
  let held = trace.columns[0]!;
  let allocatedBefore = 0;
  return Array.from({ length: trace.column_count }, (_, i) => {
    held = bySlice.get(i) ?? held;
    const between = held.active_max_bytes <= allocatedBefore;
    allocatedBefore = held.allocated_max_bytes;
    return {
      allocatedMinBytes: held.allocated_min_bytes,
      allocatedMaxBytes: held.allocated_max_bytes,
      activeMaxBytes: between ? held.allocated_max_bytes : held.active_max_bytes,
      reservedMaxBytes: held.reserved_max_bytes,
    };
  });
}

/** The horizontal position of an entry, 0 to 1: the middle of its place. */
function placeOf(trace: TimelineTrace): (seq: number, timeUs: number | null) => number {
  const { first_seq, last_seq, first_time_us, last_time_us } = trace.range;
  if (trace.by === 'time' && first_time_us !== null && last_time_us !== null)
    return (_, timeUs) => ((timeUs ?? first_time_us) - first_time_us) / (last_time_us - first_time_us + 1);
  return (seq) => (seq - first_seq + 0.5) / (last_seq - first_seq + 1);
}

function lanes(trace: TimelineTrace): ChartLane[] {
  const at = placeOf(trace);
  const { marks, steps } = trace;
  const signs: ChartMark[] = [
    ...marks.ooms.map((oom) => ({ at: at(oom.seq, oom.time_us), sign: 'O' })),
    { at: at(marks.peak_active.first_seq, marks.peak_active.time_us), sign: 'P' },
    ...marks.snapshots.map((point) => ({ at: at(point.seq, point.time_us), sign: 'S' })),
  ];
  const lines = markLanes(signs, trace.column_count);
  // A flush goes before almost every failure, and would be hidden by its mark.
  if (marks.flushes.length > 0)
    lines.push({
      title: 'flush',
      marks: marks.flushes.map((flush) => ({ at: at(flush.first_seq, flush.time_us), sign: 'f' })),
    });
  if (steps.rows.length > 0)
    lines.push({
      title: 'steps',
      marks: steps.rows.flatMap((step) =>
        numbered(at(step.first_seq, step.start_us), step.step, steps.rows.length, trace),
      ),
    });
  for (const lane of annotationLanes(marks.annotations))
    lines.push({
      title: lane.sign,
      marks: lane.ranges.flatMap((range) => bar(range, trace)),
    });
  return lines;
}

/** Marks that would overlap go to a second line, for instance the peak just before the failure. */
function markLanes(marks: readonly ChartMark[], columns: number): ChartLane[] {
  const first = new Map<number, ChartMark>();
  const second: ChartMark[] = [];
  for (const mark of marks) {
    const column = Math.floor(mark.at * columns);
    const taken = first.get(column);
    if (taken === undefined) first.set(column, mark);
    else if (taken.sign !== mark.sign) second.push(mark);
  }
  const lanes = [{ title: 'marks', marks: [...first.values()] }];
  return second.length > 0 ? [...lanes, { title: '', marks: second }] : lanes;
}

/** A sign in every column that a range touches; a side that was not recorded reaches to the edge. */
function bar(range: TimelineAnnotation, trace: TimelineTrace): ChartMark[] {
  const at = placeOf(trace);
  const { first_seq, last_seq } = trace.range;
  const columns = trace.column_count;
  const seqs = [range.first_seq ?? first_seq, range.last_seq ?? last_seq].map((seq) =>
    Math.min(last_seq, Math.max(first_seq, seq)),
  );
  const [from, to] = [at(seqs[0]!, range.start_us), at(seqs[1]!, range.end_us ?? trace.range.last_time_us)].map(
    (place) => Math.min(columns - 1, Math.max(0, Math.floor(place * columns))),
  ) as [number, number];
  // A range without an entry has its end before its first entry: it still took place.
  return Array.from({ length: Math.max(1, to - from + 1) }, (_, i) => ({ at: (from + i + 0.5) / columns, sign: '=' }));
}

/** `|12` at the start of step 12, only the stroke where the numbers would not fit. */
function numbered(place: number, step: number, count: number, trace: TimelineTrace): ChartMark[] {
  const width = trace.column_count;
  const digits = String(step);
  const stroke: ChartMark = { at: Math.max(0, place), sign: '|' };
  if (width / count < digits.length + 2) return [stroke];
  return [stroke, ...[...digits].map((sign, i) => ({ at: Math.max(0, place) + (i + 1) / width, sign }))];
}

const MOST_LANES = 6;

/** One lane for each name, in order of first appearance: `a`, `b`, … */
function annotationLanes(
  annotations: readonly TimelineAnnotation[],
): { sign: string; name: string; ranges: TimelineAnnotation[] }[] {
  return [...groupBy(annotations, ({ name }) => name)]
    .slice(0, MOST_LANES)
    .map(([name, ranges], i) => ({ sign: 'abcdef'[i]!, name, ranges }));
}

const TICKS = 4;

function scales(trace: TimelineTrace): ChartScale[] {
  const { range } = trace;
  const places = Array.from({ length: TICKS + 1 }, (_, i) => i / TICKS);
  const seqAt = (at: number): number => {
    const entries = range.last_seq - range.first_seq;
    return range.first_seq + Math.round(at * entries);
  };
  /** The last slice with an entry that begins at or before a place. */
  const columnAt = (at: number): TimelineColumn | undefined =>
    trace.columns.findLast((column) => column.first_seq !== null && column.column <= at * trace.column_count);
  if (range.first_time_us === null || range.last_time_us === null)
    return [{ title: 'entry', labels: places.map((at) => ({ at, text: formatCount(seqAt(at)) })) }];
  const first = range.first_time_us;
  const span = range.last_time_us - first;
  if (trace.by === 'time')
    return [
      { title: 'time', labels: places.map((at) => ({ at, text: `+${duration(at * span, span)}` })) },
      {
        title: 'entry',
        labels: places.map((at) => {
          const column = columnAt(at);
          const isHeld = column !== undefined && column.column < Math.floor(at * trace.column_count);
          const seq = at === 1 ? range.last_seq : ((isHeld ? column.last_seq : column?.first_seq) ?? null);
          return { at, text: seq === null ? '' : formatCount(seq) };
        }),
      },
    ];
  const timeAt = (at: number): number | null =>
    at === 0 ? first : at === 1 ? range.last_time_us : (columnAt(at)?.first_time_us ?? null);
  return [
    { title: 'entry', labels: places.map((at) => ({ at, text: formatCount(seqAt(at)) })) },
    {
      title: 'time',
      labels: places.map((at) => {
        const time = timeAt(at);
        return { at, text: time === null ? '' : `+${duration(time - first, span)}` };
      }),
    },
  ];
}

/** Only the shades that the chart shows. */
function areaLegend(drawn: string, ascii: boolean): string {
  const signs = chartSigns(ascii);
  const shades = [
    [signs.sometimes, 'for part of its column'],
    [signs.pending, 'freed, waiting for another stream'],
    [signs.inactive, 'reserved, not in use'],
  ] as const;
  const shown = shades.filter(([sign]) => drawn.includes(sign)).map(([sign, text]) => `${sign} ${text}`);
  return [`${signs.full} allocated`, ...shown].join('  ');
}

function legendLines(trace: TimelineTrace): string[] {
  const { marks, range } = trace;
  const lines: string[] = [];
  const first = range.first_time_us;
  const span = first === null || range.last_time_us === null ? 0 : range.last_time_us - first;
  const after = (seq: number, timeUs: number | null): string =>
    `entry ${formatCount(seq)}${timeUs === null || first === null ? '' : `, +${duration(timeUs - first, span)}`}`;
  const add = (sign: string, text: string): void => void pushAll(lines, wrapped(`  ${sign}  ${text}`, '     '));
  const reached = (peak: TimelinePeak): string =>
    peak.first_seq === range.first_seq ? 'from the start on' : `first after ${peakEntry(peak, after)}`;
  add('P', `peak: ${formatBytes(marks.peak_active.bytes)} active, ${reached(marks.peak_active)}`);
  for (const line of nvtxLines(trace.nvtx?.peak)) add(' ', line.trim());
  add(' ', `most reserved: ${formatBytes(marks.peak_reserved.bytes)}, ${reached(marks.peak_reserved)}`);
  for (const oom of marks.ooms.slice(0, 3)) {
    const free = oom.device_free_bytes === null ? '' : `, ${formatBytes(oom.device_free_bytes)} free on the device`;
    add('O', `out of memory: requested ${bytesOr(oom.requested_bytes)}${free} (${after(oom.seq, oom.time_us)})`);
  }
  for (const line of nvtxLines(trace.nvtx?.oom)) add(' ', line.trim());
  if (marks.ooms.length > 3) add('O', `${formatCount(marks.ooms.length - 3)} more OOM entries`);
  const [snapshot, ...others] = marks.snapshots;
  if (snapshot !== undefined) {
    const more = others.length > 0 ? ` and ${formatCount(others.length)} more` : '';
    add('S', `snapshot taken: ${after(snapshot.seq, snapshot.time_us)}${more}`);
  }
  if (marks.flush_count > 0)
    add(
      'f',
      `${counted(marks.flush_count, 'flush', 'flushes')}: ${formatBytes(marks.flush_bytes)} given back to the driver`,
    );
  const lanes = annotationLanes(marks.annotations);
  for (const lane of lanes) add(lane.sign, `${keepEnd(printable(lane.name), 80)} ×${formatCount(lane.ranges.length)}`);
  const names = new Set(marks.annotations.map((range) => range.name)).size;
  if (names > lanes.length) add(' ', `${formatCount(names - lanes.length)} more names (--json has all)`);
  return lines;
}

function peakEntry(peak: TimelinePeak, after: (seq: number, timeUs: number | null) => string): string {
  if (peak.first_seq === peak.last_seq) return after(peak.first_seq, peak.time_us);
  return `${after(peak.first_seq, peak.time_us)} (or up to ${peak.last_seq - peak.first_seq} later)`;
}

const CSV_COLUMNS = [
  'column',
  'first_seq',
  'last_seq',
  'first_time_us',
  'last_time_us',
  'allocated_min_bytes',
  'allocated_max_bytes',
  'active_min_bytes',
  'active_max_bytes',
  'reserved_min_bytes',
  'reserved_max_bytes',
] as const;

/** The series of every device, with a heading; unknown is the empty field. */
export function timelineCsv(result: TimelineResult): string {
  const lines = [csvLine(['snapshot', 'rank', 'device', ...CSV_COLUMNS])];
  for (const { handle, rank, devices } of result.snapshots)
    for (const { device, trace } of devices)
      for (const column of trace?.columns ?? [])
        lines.push(csvLine([handle, rank, device, ...CSV_COLUMNS.map((name) => column[name])]));
  return lines.join('');
}
