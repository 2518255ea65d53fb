/** Memory lines by rank and metric. */
import { maxOf, pushAll } from '../../model/lists.js';
import type { DoubtfulReading, MemoryMetricResult, MemoryRank, MemoryResult } from '../../model/results/log.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { left, printable, right, tableOf } from '../table.js';
import {
  bytesOr,
  counted,
  countOr,
  figure,
  grouped,
  paragraph,
  rankList,
  rankWords,
  UNKNOWN,
  wrapped,
} from '../text-pieces.js';

/** More rows than a reader reads; `--rank` and `--json` have the rest. */
const MOST_RANKS = 32;
const MOST_RECORDS = 200;
const MOST_DOUBTFUL = 4;

export function memoryText(result: MemoryResult): string {
  if (result.ranks.length === 0) {
    const doubtful = doubtfulLines(result.doubtful, '  ');
    const head = `run ${printable(result.run)}: no ${doubtful.length > 0 ? 'plausible ' : ''}memory line`;
    return `${[head, ...doubtful, ...sampledLines(result)].join('\n')}\n`;
  }
  const lines = [`run ${printable(result.run)}: last and largest figures of the memory lines`];
  const attempts = [...new Set(result.ranks.map(({ attempt }) => attempt))];
  for (const attempt of attempts) {
    const ranks = result.ranks.filter((rank) => rank.attempt === attempt);
    const title = attempts.length > 1 ? `attempt ${attempt}` : undefined;
    pushAll(lines, ['', ...(title === undefined ? [] : [title]), rankTable(ranks, result.records !== null)]);
    if (ranks.length > MOST_RANKS)
      lines.push(`  ${formatCount(ranks.length - MOST_RANKS)} more ranks; --rank N or --json shows them`);
    const stages = result.stages.filter((stage) => stage.attempt === attempt);
    if (stages.length > 1) {
      const metrics = [...new Set(stages.flatMap(({ max }) => Object.keys(max)))]
        .filter((name) => name.startsWith('max_') || name === 'device_used')
        .slice(0, 4);
      lines.push(
        '',
        tableOf(stages, [
          right('stage', ({ stage }) => stage),
          right('ranks', ({ ranks }) => ranks),
          ...metrics.map((name) =>
            right<(typeof stages)[number]>(name.replaceAll('_', ' '), ({ max }) => bytesOr(max[name])),
          ),
        ]),
      );
    }
  }
  if (result.layout_origin === null) lines.push('', '  stages unknown: no line has the parallel sizes');
  if (result.flags.length > 0) lines.push('');
  for (const flag of result.flags) {
    const where = `${attempts.length > 1 ? `attempt ${flag.attempt}, ` : ''}${rankWords(flag.ranks)}`;
    pushAll(lines, paragraph(`  ${flag.kind.replaceAll('_', ' ')} · ${where}: ${printable(flag.text)}`));
  }
  pushAll(lines, doubtfulLines(result.doubtful, '  '));
  if (result.records !== null) lines.push('', recordsTable(result.records));
  if (result.sampled !== null) pushAll(lines, ['', ...sampledLines(result)]);
  return `${lines.join('\n')}\n`;
}

/** A line each, of the first ones. */
export function doubtfulLines(readings: readonly DoubtfulReading[], indent: string): string[] {
  const lines = readings
    .slice(0, MOST_DOUBTFUL)
    .flatMap(({ metric, rank, value, unit, reason, samples, file, line }) => {
      const more = samples > 1 ? `, and ${formatCount(samples - 1)} more` : '';
      const what = `${metric.replaceAll('_', ' ')} ${grouped(value, 1)} ${unit}`;
      return wrapped(
        `${indent}doubtful · ${rankWords([rank])}: ${printable(what)} [${printable(file)} line ${formatCount(line)}]${more}: ${printable(reason)}; not counted`,
        `${indent}  `,
      );
    });
  if (readings.length > MOST_DOUBTFUL)
    lines.push(`${indent}${formatCount(readings.length - MOST_DOUBTFUL)} more doubtful readings; --json shows them`);
  return lines;
}

function sampledLines({ sampled }: MemoryResult): string[] {
  if (sampled === null) return [];
  const { devices, samples, files, max_used_bytes: bytes } = sampled;
  const where = files.length === 1 ? printable(files[0]!) : `${formatCount(files.length)} files`;
  return wrapped(
    `  sampled, and so listed separately: ${formatCount(samples)} samples of ${counted(devices, 'device')} (${where}), at most ${formatBytes(bytes)} in use; peaks between two samples are not in it: mbforensics log outside`,
  );
}

/** A row a rank with the metrics that matter; with one rank asked for, a row a metric. */
function rankTable(ranks: readonly MemoryRank[], inFull: boolean): string {
  if (inFull) {
    return tableOf(
      ranks.flatMap(({ metrics }) => metrics),
      [
        left('metric', ({ metric }) => metric),
        right('samples', ({ samples }) => formatCount(samples)),
        right('iterations', ({ first_iteration: first, last_iteration: last }) =>
          first === null ? UNKNOWN : `${first}-${last}`,
        ),
        right('last', (metric) => amount(metric.last_bytes, metric.last_value)),
        right('largest', (metric) => amount(metric.max_bytes, metric.max_value)),
        right('growth/iteration', (metric) => growthText(metric.growth_bytes_per_iteration)),
      ],
    );
  }
  const find = (rank: MemoryRank, name: string): MemoryMetricResult | undefined =>
    rank.metrics.find(({ metric }) => metric === name);
  const present = (name: string): boolean => ranks.some((rank) => find(rank, name) !== undefined);
  const last = ['allocated', 'reserved'].filter(present);
  // nvidia-smi readings from before the run are not shown.
  const isUsed = ranks.some((rank) => (find(rank, 'device_used')?.max_bytes ?? 0) > 0);
  const largest = ['max_allocated', 'max_reserved', ...(isUsed ? ['device_used'] : [])].filter(present);
  const counts = ['alloc_retries', 'ooms'].filter(present);
  const known = new Set([...last, ...largest, ...counts]);
  // A producer of its own words: then its words are shown.
  const otherMetrics = [...new Set(ranks.flatMap(({ metrics }) => metrics.map(({ metric }) => metric)))]
    .filter((name) => !known.has(name))
    .slice(0, known.size === 0 ? 4 : 0);
  const hasStages = ranks.some(({ position }) => position !== null);
  const growthOf = (rank: MemoryRank): number | null => find(rank, 'allocated')?.growth_bytes_per_iteration ?? null;
  const hasGrowth = ranks.some((rank) => growthOf(rank) !== null);
  const metricColumn = (name: string, cell: (metric: MemoryMetricResult | undefined) => string) =>
    right<MemoryRank>(titleOf(name), (rank) => cell(find(rank, name)));
  return tableOf(ranks.slice(0, MOST_RANKS), [
    right('rank', ({ rank, device }) => (rank === null && device !== null ? `device ${device}` : rankList([rank]))),
    hasStages && right('stage', ({ position }) => countOr(position?.pp)),
    right('lines', ({ metrics }) => formatCount(maxOf(metrics.map(({ samples }) => samples)))),
    ...last.map((name) => metricColumn(name, (metric) => bytesOr(metric?.last_bytes))),
    ...largest.map((name) => metricColumn(name, (metric) => bytesOr(metric?.max_bytes))),
    ...counts.map((name) => metricColumn(name, (metric) => countOr(metric?.max_value))),
    ...otherMetrics.map((name) =>
      metricColumn(name, (metric) => amount(metric?.last_bytes ?? null, metric?.last_value)),
    ),
    hasGrowth && right('growth/iteration', (rank) => growthText(growthOf(rank))),
  ]);
}

/** `peak allocated` of `max_allocated`, `retries` of `alloc_retries`. */
function titleOf(metric: string): string {
  return metric
    .replace(/^max_/, 'peak ')
    .replace(/^alloc_/, '')
    .replaceAll('_', ' ');
}

function growthText(bytes: number | null): string {
  return bytes === null ? UNKNOWN : formatBytes(Math.round(bytes));
}

function amount(bytes: number | null, value: number | undefined): string {
  return bytes === null ? figure(value) : formatBytes(bytes);
}

function recordsTable(records: NonNullable<MemoryResult['records']>): string {
  const shown = records.slice(-MOST_RECORDS);
  const rows = tableOf(shown, [
    right('iteration', (record) => countOr(record.iteration)),
    left('moment', (record) => (record.moment ?? UNKNOWN).slice(0, 30)),
    left('metric', (record) => record.metric),
    right('bytes', (record) => countOr(record.bytes)),
    right('printed', (record) => `${figure(record.value)} ${record.unit}`),
    right('line', (record) => formatCount(record.line)),
  ]);
  const hiddenCount = records.length - shown.length;
  return hiddenCount === 0 ? rows : `${rows}\n  ${formatCount(hiddenCount)} earlier figures; --json shows all`;
}
