/**
 * Results as a plain object (`--json`) and as aligned text; both show the same figures. MB are 10^6 bytes throughout.
 */
import { formatCount } from '../src/model/units.js';
import { column, table } from '../src/report/document/document.js';
import { tableLines } from '../src/report/render/table.js';
import { MOST_WIDTH } from '../src/report/screen.js';
import type { Machine } from './machine.js';
import type { Sample } from './measure.js';
import { type Summary, summarise } from './statistics.js';

/** What a run got through, for its rate. */
export interface Work {
  readonly bytes?: number;
  readonly events?: number;
}

/**
 * A figure the project wants to stay under; shown, never enforced. `of` names a baseline's row, {@link PEAK_RSS}
 * (bytes) or {@link MEDIAN} (seconds).
 */
export interface Bar {
  readonly of: string;
  readonly limit: number;
}

export const PEAK_RSS = 'peak RSS';
export const MEDIAN = 'median';

export interface Group {
  readonly case: string;
  readonly title: string;
  /** Rows that the others are divided by. */
  readonly baselines: readonly string[];
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  readonly work: Readonly<Record<string, Work>>;
  readonly bars: Readonly<Record<string, readonly Bar[]>>;
  /** Printed under the table: conditions and derived estimates. */
  readonly notes: readonly string[];
}

interface RowResult {
  readonly name: string;
  readonly seconds: Summary;
  readonly samples: readonly number[];
  /** Median divided by the baseline's median. */
  readonly ratios: Readonly<Record<string, number>>;
  readonly megabytes_per_second: number | null;
  readonly events_per_second: number | null;
  /** The largest of all runs. */
  readonly peak_rss_bytes: number | null;
  readonly bars: readonly (Bar & { readonly value: number; readonly met: boolean })[];
}

export interface GroupResult {
  readonly case: string;
  readonly title: string;
  readonly baselines: readonly string[];
  readonly rows: readonly RowResult[];
  readonly notes: readonly string[];
}

export interface BenchResult {
  readonly schema: 'mbforensics/bench@1';
  readonly machine: Machine;
  readonly groups: readonly GroupResult[];
  readonly skipped: readonly string[];
}

export function evaluate(group: Group): GroupResult {
  const summaries = new Map(
    [...group.samples].map(([name, samples]) => [name, summarise(samples.map((sample) => sample.seconds))]),
  );
  const rows = [...group.samples].map(([name, samples]): RowResult => {
    const seconds = summaries.get(name)!;
    const ratios = Object.fromEntries(
      group.baselines.map((baseline) => [baseline, seconds.median / summaries.get(baseline)!.median]),
    );
    const work = group.work[name];
    const peaks = samples.flatMap((sample) => sample.peakRssBytes ?? []);
    const peakRssBytes = peaks.length === 0 ? null : Math.max(...peaks);
    const bars = (group.bars[name] ?? []).flatMap((bar) => {
      const value = bar.of === PEAK_RSS ? peakRssBytes : bar.of === MEDIAN ? seconds.median : ratios[bar.of]!;
      return value === null ? [] : [{ ...bar, value, met: value <= bar.limit }];
    });
    return {
      name,
      seconds,
      samples: samples.map((sample) => sample.seconds),
      ratios,
      megabytes_per_second: work?.bytes === undefined ? null : work.bytes / 1e6 / seconds.median,
      events_per_second: work?.events === undefined ? null : work.events / seconds.median,
      peak_rss_bytes: peakRssBytes,
      bars,
    };
  });
  const { case: name, title, baselines, notes } = group;
  return { case: name, title, baselines, rows, notes };
}

export function machineText(machine: Machine): string {
  return [
    `mbforensics ${machine.mbforensics} · node ${machine.node} · DuckDB ${machine.duckdb} · python ${machine.python ?? 'missing'}`,
    `${machine.cores} × ${machine.cpu} · ${(machine.memory_bytes / 1e9).toFixed(0)} GB · ${machine.os} · load ${machine.load.toFixed(2)}`,
    `peak RSS: ${machine.rss_method} · MB = 10^6 bytes · every file read once before it is timed (warm page cache)`,
  ].join('\n');
}

export function groupText(group: GroupResult): string {
  const has = (key: 'megabytes_per_second' | 'events_per_second' | 'peak_rss_bytes'): boolean =>
    group.rows.some((row) => row[key] !== null);
  const columns: { title: string; cell(row: RowResult): string | null }[] = [
    { title: 'n', cell: (row) => String(row.seconds.n) },
    { title: MEDIAN, cell: (row) => `${row.seconds.median.toFixed(3)} s${barText(row, MEDIAN)}` },
    { title: 'min', cell: (row) => row.seconds.min.toFixed(3) },
    { title: 'max', cell: (row) => row.seconds.max.toFixed(3) },
    ...group.baselines.map((baseline) => ({
      title: `÷ ${baseline}`,
      cell: (row: RowResult) => `${row.ratios[baseline]!.toFixed(3)}${barText(row, baseline)}`,
    })),
  ];
  if (has('megabytes_per_second')) columns.push({ title: 'MB/s', cell: (row) => rate(row.megabytes_per_second) });
  if (has('events_per_second')) columns.push({ title: 'events/s', cell: (row) => rate(row.events_per_second) });
  if (has('peak_rss_bytes')) {
    columns.push({
      title: PEAK_RSS,
      cell: (row) =>
        row.peak_rss_bytes === null ? null : `${megabytes(row.peak_rss_bytes)} MB${barText(row, PEAK_RSS)}`,
    });
  }
  const drawn = table(group.rows, [
    column('name', (row) => row.name, { title: '' }),
    ...columns.map(({ title, cell }) => column(title, cell, { align: 'right' })),
  ]);
  const lines = drawn === null ? [] : tableLines(drawn, MOST_WIDTH).map((line) => `  ${line}`);
  return [`${group.case}: ${group.title}`, ...lines, ...group.notes.map((note) => `  ${note}`)].join('\n');
}

function barText(row: RowResult, of: string): string {
  const bar = row.bars.find((one) => one.of === of);
  if (bar === undefined) return '';
  return ` (bar ${of === PEAK_RSS ? megabytes(bar.limit) : bar.limit}: ${bar.met ? 'met' : 'missed'})`;
}

function rate(value: number | null): string | null {
  return value === null ? null : formatCount(Math.round(value));
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
