/** The course of a device's memory as a chart, with marks, and the training steps as a table. */

import { groupBy } from '../../model/group-by.js';
import type { NvtxAt } from '../../model/results/nsys.js';
import type * as results from '../../model/results/timeline.js';
import { formatBytes, formatCount } from '../../model/units.js';
import {
  type ChartColumn,
  type ChartLane,
  type ChartMark,
  type ChartScale,
  chart,
  chartSigns,
  GUTTER,
  gutter,
} from '../chart.js';
import * as d from '../document/document.js';
import { duration } from '../document/values.js';
import { nvtxTexts } from '../run/nvtx-text.js';
import { stepParts } from '../run/step-parts.js';
import { csvLine } from '../store/sql-text.js';
import { textMaker } from '../words/fill-pieces.js';
import { componentRows } from './component-chart.js';
import { deviceTitle } from './device-title.js';

export interface TimelineLook {
  /** Columns of the chart, its gutter included; undefined: those of the screen. */
  readonly width: number | undefined;
  /** Rows of the chart. */
  readonly height: number;
  /** Nothing but ASCII, for terminals without Unicode. */
  readonly ascii: boolean;
  /** Steps to list; undefined = all. */
  readonly steps: number | undefined;
}

const textOf = textMaker('moment', 'timeline');

export const timelineDocument = ({ schema, snapshots }: results.TimelineResult, look: TimelineLook): d.Document =>
  d.document(
    schema,
    '',
    ...snapshots.flatMap((snapshot) => [
      ...snapshot.devices.map((device) => deviceSection(snapshot, device, look)),
      ...snapshot.left_out.map(({ device, reason }) =>
        d.note(d.t`${d.code(snapshot.path)} device ${device} left out: ${reason}`),
      ),
    ]),
  );

const PLAIN: Readonly<Record<string, string>> = { '·': '-', '–': '-', '—': '-', '…': '...', '×': 'x', '≤': '<=' };

export const asciiText = (text: string): string => text.replace(/[·–—…×≤]/g, (sign) => PLAIN[sign]!);

function deviceSection(
  snapshot: results.TimelineSnapshot,
  { device, trace, dump }: results.TimelineDevice,
  look: TimelineLook,
): d.MaybePart {
  const { path, handle, rank } = snapshot;
  const title = deviceTitle({ path, rank, device });
  const key = { key: 'devices', isOneOf: true, fields: { handle, rank, device } };
  if (trace === null) return d.section(title, key, d.paragraph(textOf('dump', dump)));
  return d.section(
    title,
    key,
    d.paragraph(traceText(trace)),
    { type: 'drawing', lines: (width) => chartLines(trace, look, look.width ?? width) },
    legend(trace),
    ...componentParts(trace, look),
    ...stepParts(trace, look.steps),
  );
}

function chartLines(trace: results.TimelineTrace, { height, ascii }: TimelineLook, width: number): string[] {
  const drawn = chart({
    columns: chartColumns(trace),
    width,
    height,
    ascii,
    lanes: lanes(trace),
    scales: scales(trace),
  });
  return [...drawn, '', areaLegend(drawn.slice(0, height + 1).join(''), ascii), ''];
}

/** The same columns again, in letters of what they are made of. */
function componentParts(trace: results.TimelineTrace, look: TimelineLook): d.MaybePart[] {
  const { components } = trace;
  if (components === undefined || components.components.length === 0) return [];
  const series = { ...components, bytes: heldSlices(trace, components.bytes) };
  const { axis, tick, corner, floor } = chartSigns(look.ascii);
  const draw = (width: number) => componentRows(series, Math.max(1, width - GUTTER), look.height);
  const lines = (width: number): string[] => {
    const { rows, topBytes } = draw(look.width ?? width);
    const top = formatBytes(topBytes).replace(/ (.).*$/, '$1');
    return [
      ...rows.map((row, i) => `${gutter(i === 0 ? top : '')} ${i === 0 ? tick : axis}${row}`),
      `${gutter('0')} ${corner}${floor.repeat(Math.max(1, (look.width ?? width) - GUTTER))}`,
    ];
  };
  const legendTexts = draw(GUTTER).legend.map(
    ({ sign, component, bytes: most }) => d.t`${sign} ${component} ≤ ${d.as(`${component}_bytes`, d.bytes(most))}`,
  );
  return [{ type: 'drawing', lines }, d.paragraph(d.joined(legendTexts, ' · '))];
}

function traceText(trace: results.TimelineTrace): d.Text {
  const { range, column_count: columns } = trace;
  const { first_seq: first, last_seq: last, first_time_us: from, last_time_us: to } = range;
  const shown = last - first + 1;
  return textOf('trace', trace, range, {
    span_us: from === null || to === null ? null : to - from,
    in_column: shown > columns && Math.ceil(shown / columns),
  });
}

function chartColumns(trace: results.TimelineTrace): ChartColumn[] {
  let allocatedBefore = 0;
  return heldSlices(trace, trace.columns).map((slice) => {
    const between = slice.active_max_bytes <= allocatedBefore;
    allocatedBefore = slice.allocated_max_bytes;
    return {
      allocatedMinBytes: slice.allocated_min_bytes,
      allocatedMaxBytes: slice.allocated_max_bytes,
      activeMaxBytes: between ? slice.allocated_max_bytes : slice.active_max_bytes,
      reservedMaxBytes: slice.reserved_max_bytes,
    };
  });
}

/** Of each slice what is given of its row; a slice without a row holds the one before it. */
function heldSlices<Of>({ columns, column_count: count }: results.TimelineTrace, of: readonly Of[]): Of[] {
  const bySlice = new Map(columns.map(({ column }, i) => [column, of[i]!]));
  let held = of[0]!;
  return Array.from({ length: count }, (_, i) => {
    held = bySlice.get(i) ?? held;
    return held;
  });
}

/** The horizontal position of an entry, 0 to 1: the middle of its place. */
function placeOf(trace: results.TimelineTrace): (seq: number, timeUs: number | null) => number {
  const { first_seq, last_seq, first_time_us, last_time_us } = trace.range;
  if (trace.by === 'time' && first_time_us !== null && last_time_us !== null)
    return (_, timeUs) => ((timeUs ?? first_time_us) - first_time_us) / (last_time_us - first_time_us + 1);
  return (seq) => (seq - first_seq + 0.5) / (last_seq - first_seq + 1);
}

function lanes(trace: results.TimelineTrace): ChartLane[] {
  const at = placeOf(trace);
  const { marks, steps } = trace;
  const signs: ChartMark[] = [
    ...marks.ooms.map((oom) => ({ at: at(oom.seq, oom.time_us), sign: 'O' })),
    { at: at(marks.peak_active.first_seq, marks.peak_active.time_us), sign: 'P' },
    ...marks.snapshots.map((point) => ({ at: at(point.seq, point.time_us), sign: 'S' })),
  ];
  const flushes = marks.flushes.map((flush) => ({ at: at(flush.first_seq, flush.time_us), sign: 'f' }));
  const numbers = steps.rows.flatMap((step) =>
    numbered(at(step.first_seq, step.start_us), step.step, steps.rows.length, trace),
  );
  return [
    ...markLanes(signs, trace.column_count),
    // A flush goes before almost every failure, and would be hidden by its mark.
    ...[
      { title: 'flush', marks: flushes },
      { title: 'steps', marks: numbers },
    ].filter((lane) => lane.marks.length > 0),
    ...annotationLanes(marks.annotations).map(({ sign, ranges }) => ({
      title: sign,
      marks: ranges.flatMap((range) => bar(range, trace)),
    })),
  ];
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
function bar(range: results.TimelineAnnotation, trace: results.TimelineTrace): ChartMark[] {
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
function numbered(place: number, step: number, count: number, trace: results.TimelineTrace): ChartMark[] {
  const width = trace.column_count;
  const digits = String(step);
  const stroke: ChartMark = { at: Math.max(0, place), sign: '|' };
  if (width / count < digits.length + 2) return [stroke];
  return [stroke, ...[...digits].map((sign, i) => ({ at: Math.max(0, place) + (i + 1) / width, sign }))];
}

const MOST_LANES = 6;
/** In the legend. */
const MOST_OOMS = 3;

/** One lane for each name, in order of first appearance: `a`, `b`, … */
function annotationLanes(
  annotations: readonly results.TimelineAnnotation[],
): { sign: string; name: string; ranges: results.TimelineAnnotation[] }[] {
  return [...groupBy(annotations, ({ name }) => name)]
    .slice(0, MOST_LANES)
    .map(([name, ranges], i) => ({ sign: 'abcdef'[i]!, name, ranges }));
}

const TICKS = 4;

function scales(trace: results.TimelineTrace): ChartScale[] {
  const { first_seq: from, last_seq: to, first_time_us: first, last_time_us: last } = trace.range;
  const scale = (title: string, textAt: (at: number) => string): ChartScale => ({
    title,
    labels: Array.from({ length: TICKS + 1 }, (_, i) => ({ at: i / TICKS, text: textAt(i / TICKS) })),
  });
  const bySeq = scale('entry', (at) => formatCount(from + Math.round(at * (to - from))));
  if (first === null || last === null) return [bySeq];
  const span = last - first;
  /** The last slice with an entry that begins at or before a place. */
  const columnAt = (at: number): results.TimelineColumn | undefined =>
    trace.columns.findLast((column) => column.first_seq !== null && column.column <= at * trace.column_count);
  const seqText = (at: number): string => {
    const column = columnAt(at);
    const isHeld = column !== undefined && column.column < Math.floor(at * trace.column_count);
    const seq = at === 1 ? to : ((isHeld ? column.last_seq : column?.first_seq) ?? null);
    return seq === null ? '' : formatCount(seq);
  };
  const timeText = (at: number): string => {
    const time = at === 0 ? first : at === 1 ? last : (columnAt(at)?.first_time_us ?? null);
    return time === null ? '' : `+${duration(time - first, span)}`;
  };
  return trace.by === 'time'
    ? [scale('time', (at) => `+${duration(at * span, span)}`), scale('entry', seqText)]
    : [bySeq, scale('time', timeText)];
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

function legend(trace: results.TimelineTrace): d.MaybePart {
  const { marks, range, nvtx } = trace;
  const { peak_active: peak, peak_reserved: reserved, ooms, snapshots } = marks;
  const first = range.first_time_us;
  const span = first === null || range.last_time_us === null ? 0 : range.last_time_us - first;
  const after = (seq: number, timeUs: number | null): d.Text =>
    d.t`entry ${seq}${timeUs === null || first === null ? '' : `, +${duration(timeUs - first, span)}`}`;
  const reached = ({ bytes, first_seq: from, last_seq: to, time_us: time }: results.TimelinePeak) => ({
    ...{ bytes, after: after(from, time), later: to - from, is_start: from === range.first_seq },
  });
  const entry = (sign: string, key: string, sentence: string, ...records: object[]): d.Fact | null =>
    d.fact(key, textOf(sentence, ...records), { title: sign });
  const nvtxFacts = (key: string, at: NvtxAt | null | undefined): (d.Fact | null)[] =>
    nvtxTexts(at).map((text, i) => d.fact(`${key}_nvtx_${i + 1}`, text, { title: '' }));
  const lanes = annotationLanes(marks.annotations);
  const more = new Set(marks.annotations.map(({ name }) => name)).size - lanes.length;
  return d.facts([
    entry('P', 'peak_active', 'peak', reached(peak)),
    ...nvtxFacts('peak', nvtx?.peak),
    entry('', 'peak_reserved', 'reserved', reached(reserved)),
    ...ooms
      .slice(0, MOST_OOMS)
      .map((oom, i) => entry('O', `oom_${i + 1}`, 'oom', oom, { after: after(oom.seq, oom.time_us) })),
    ...nvtxFacts('oom', nvtx?.oom),
    ooms.length > MOST_OOMS && entry('O', 'ooms', 'more_ooms', { more: ooms.length - MOST_OOMS }),
    ...snapshots
      .slice(0, 1)
      .map((one) =>
        entry('S', 'snapshot', 'snapshot', { after: after(one.seq, one.time_us), more: snapshots.length - 1 }),
      ),
    marks.flush_count > 0 && entry('f', 'flushes', 'flushes', marks),
    ...lanes.map(({ sign, name, ranges }) =>
      d.fact(`annotation_${sign}`, d.t`${d.code(name)} ×${ranges.length}`, { title: sign }),
    ),
    more > 0 && entry('', 'more_annotations', 'more_names', { more }),
  ]);
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
export function timelineCsv(result: results.TimelineResult): string {
  const lines = [csvLine(['snapshot', 'rank', 'device', ...CSV_COLUMNS])];
  for (const { handle, rank, devices } of result.snapshots)
    for (const { device, trace } of devices)
      for (const column of trace?.columns ?? [])
        lines.push(csvLine([handle, rank, device, ...CSV_COLUMNS.map((name) => column[name])]));
  return lines.join('');
}
