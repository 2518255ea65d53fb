/** Memory lines by rank and metric, for `log memory` and the summary of `log`. */
import { groupBy } from '../../model/group-by.js';
import { maxOf, minOf } from '../../model/lists.js';
import type * as results from '../../model/results/log.js';
import { formatBytes } from '../../model/units.js';
import * as d from '../document/document.js';
import { plain, rankList, rankWords } from '../text-pieces.js';

/** More rows than a reader reads. */
const MOST_RANKS = 32;
const MOST_RECORDS = 200;
const MOST_DOUBTFUL = 4;
/** Largest figures of a stage. */
const MOST_METRICS = 4;

export function memoryDocument(result: results.MemoryResult): d.Document {
  const { schema, run, ranks, stages, flags, doubtful, records, sampled } = result;
  const name = d.as('run', d.code(run));
  const attempts = new Set(ranks.map(({ attempt }) => attempt)).size;
  const hasAttempts = attempts > 1;
  const noun = doubtful.length > 0 ? 'plausible memory reading' : 'memory reading';
  return d.document(
    schema,
    ranks.length === 0 ? d.t`run ${name}: no ${noun}` : d.t`run ${name}: last and largest memory readings`,
    records === null ? rankTable(ranks, hasAttempts) : metricTable(ranks, hasAttempts),
    stageTable(stages, hasAttempts),
    ranks.length > 0 && result.layout_origin === null && d.note('stages unknown: no line has the parallel sizes'),
    d.section(
      'Findings',
      {},
      d.items(
        flags.map(
          ({ kind, attempt, ranks, text }) =>
            d.t`${plain(kind)} · ${hasAttempts ? `launch ${attempt}, ` : ''}${rankWords(ranks)}: ${text}`,
        ),
        { key: 'flags' },
      ),
      ...doubtfulParts(doubtful),
    ),
    records !== null && recordTable(records),
    sampled !== null && d.note(sampledText(sampled), { key: 'sampled' }),
  );
}

/** Of the first ones. */
export function doubtfulParts(readings: readonly results.DoubtfulReading[]): d.MaybePart[] {
  const more = readings.length - MOST_DOUBTFUL;
  return [
    d.items(
      readings
        .slice(0, MOST_DOUBTFUL)
        .map(
          ({ metric, rank, value, unit, reason, samples, file, line }) =>
            d.t`doubtful, not counted${rank === null ? '' : ` · rank ${rank}`}: ${plain(metric)} ${{ value, unit: 'number' }} ${unit} in ${d.code(file)} line ${line}${samples > 1 ? d.t` and ${d.count(samples - 1)} more` : ''}: ${reason}`,
        ),
      { key: 'doubtful' },
    ),
    more > 0 && d.note(d.t`${d.counted(more, 'more doubtful reading')}: --json=full lists them`),
  ];
}

const sampledText = ({ devices, samples, files, max_used_bytes: most }: results.MemorySamples): d.Text =>
  d.t`a monitor took ${d.counted(samples, 'sample')} of ${d.counted(devices, 'device')} (${files.length === 1 ? d.code(files[0]!) : d.t`${files.length} files`}): at most ${d.bytes(most)} in use. Peaks between two samples are not in it: see mbforensics log outside`;

const attemptColumn = <Row extends { readonly attempt: number }>() =>
  d.counts<Row>('attempt', ({ attempt }) => attempt, { title: 'launch' });

const amount = (size: number | null, value: number | undefined): d.Cell =>
  size !== null ? d.bytes(size) : value === undefined ? null : { value, unit: 'number' };

const growthColumn = <Row>(of: (row: Row) => number | null) =>
  d.column<Row>(
    'growth_bytes_per_iteration',
    (row) => {
      const growth = of(row);
      return growth === null ? null : Math.round(growth);
    },
    { title: 'growth/iteration', unit: 'change_bytes' },
  );

/** With one rank asked for, a row a metric. */
function metricTable(ranks: readonly results.MemoryRank[], hasAttempts: boolean): d.MaybePart {
  return d.table(
    ranks.flatMap(({ attempt, metrics }) => metrics.map((metric) => ({ attempt, ...metric }))),
    [
      hasAttempts && attemptColumn(),
      d.names('metric', ({ metric }) => metric),
      d.counts('samples', ({ samples }) => samples),
      d.column('iterations', ({ first_iteration: first, last_iteration: last }) => first && `${first}-${last}`, {
        align: 'right',
      }),
      d.column('last', ({ last_bytes, last_value }) => amount(last_bytes, last_value), { align: 'right' }),
      d.column('largest', ({ max_bytes, max_value }) => amount(max_bytes, max_value), { align: 'right' }),
      growthColumn((row) => row.growth_bytes_per_iteration),
    ],
    { key: 'metrics' },
  );
}

/** A row a rank with the metrics that matter. */
function rankTable(ranks: readonly results.MemoryRank[], hasAttempts: boolean): d.MaybePart {
  const find = (rank: results.MemoryRank, name: string): results.MemoryMetricResult | undefined =>
    rank.metrics.find(({ metric }) => metric === name);
  const present = (name: string): boolean => ranks.some((rank) => find(rank, name) !== undefined);
  const last = ['allocated', 'reserved'].filter(present);
  // Readings of nvidia-smi from before the run are 0.
  const isUsed = ranks.some((rank) => (find(rank, 'device_used')?.max_bytes ?? 0) > 0);
  const largest = ['max_allocated', 'max_reserved', ...(isUsed ? ['device_used'] : [])].filter(present);
  const counters = ['alloc_retries', 'ooms'].filter(present);
  const known = new Set([...last, ...largest, ...counters]);
  // A producer with other names: then its names are shown.
  const otherMetrics = [...new Set(ranks.flatMap(({ metrics }) => metrics.map(({ metric }) => metric)))]
    .filter((name) => !known.has(name))
    .slice(0, known.size === 0 ? MOST_METRICS : 0);
  const growthOf = (rank: results.MemoryRank): number | null =>
    find(rank, 'allocated')?.growth_bytes_per_iteration ?? null;
  const metricColumn = (name: string, cell: (metric: results.MemoryMetricResult | undefined) => d.Cell | undefined) =>
    d.column<results.MemoryRank>(name, (rank) => cell(find(rank, name)) ?? null, {
      title: metricTitle(name),
      align: 'right',
    });
  const sizes = (name: string, of: 'last_bytes' | 'max_bytes') =>
    d.column<results.MemoryRank>(`${name}_bytes`, (rank) => find(rank, name)?.[of] ?? null, {
      title: metricTitle(name),
    });
  const more = ranks.length - MOST_RANKS;
  return d.table(
    ranks.slice(0, MOST_RANKS),
    [
      hasAttempts && attemptColumn(),
      d.column('rank', ({ rank, device }) => rank ?? (device === null ? null : `device ${device}`), { align: 'right' }),
      ranks.some(({ position }) => position !== null) && d.counts('stage', ({ position }) => position?.pp ?? null),
      d.counts('lines', ({ metrics }) => maxOf(metrics.map(({ samples }) => samples))),
      ...last.map((name) => sizes(name, 'last_bytes')),
      ...largest.map((name) => sizes(name, 'max_bytes')),
      ...counters.map((name) => metricColumn(name, (metric) => metric?.max_value)),
      ...otherMetrics.map((name) => metricColumn(name, (one) => amount(one?.last_bytes ?? null, one?.last_value))),
      ranks.some((rank) => growthOf(rank) !== null) && growthColumn(growthOf),
    ],
    { key: 'ranks', notes: [more > 0 && d.t`${d.counted(more, 'more rank')}: --rank N shows one, --json=full all`] },
  );
}

/** Largest figures of a stage. */
function stageTable(stages: results.MemoryResult['stages'], hasAttempts: boolean): d.MaybePart {
  const metrics = [...new Set(stages.flatMap(({ max }) => Object.keys(max)))]
    .filter((name) => name.startsWith('max_') || name === 'device_used')
    .slice(0, MOST_METRICS);
  if (stages.every(({ stage }) => stage === stages[0]?.stage)) return null;
  return d.table(
    stages,
    [
      hasAttempts && attemptColumn(),
      ...d.fieldsOf(stages, 'stage', 'ranks'),
      ...metrics.map((name) =>
        d.column<(typeof stages)[number]>(`${name}_bytes`, ({ max }) => max[name] ?? null, {
          title: metricTitle(name),
        }),
      ),
    ],
    { key: 'stages' },
  );
}

/** `peak allocated` of `max_allocated`, `retries` of `alloc_retries`. */
const metricTitle = (metric: string): string => plain(metric.replace(/^max_/, 'peak_').replace(/^alloc_/, ''));

function recordTable(records: readonly results.MemoryRecord[]): d.MaybePart {
  const hidden = Math.max(0, records.length - MOST_RECORDS);
  return d.table(
    records.slice(hidden),
    [
      ...d.fieldsOf(records, 'iteration', 'moment', 'metric'),
      d.counts('bytes', (record) => record.bytes),
      d.column('printed', ({ value, unit }) => d.t`${{ value, unit: 'number' }} ${unit}`, { align: 'right' }),
      d.counts('line', ({ line }) => line),
    ],
    { key: 'records', notes: [hidden > 0 && d.t`${d.counted(hidden, 'earlier reading')}: --json=full lists all`] },
  );
}

// ---- the summary of `log`

/** Columns in order: metric, whether its last or its largest value is shown, title. */
const COLUMNS: readonly (readonly [metric: string, of: 'last' | 'max' | 'counts'])[] = [
  ['allocated', 'last'],
  ['reserved', 'last'],
  ['max_allocated', 'max'],
  ['max_reserved', 'max'],
  ['inactive_split', 'last'],
  ['device_used', 'max'],
  ['alloc_retries', 'counts'],
];
/** Shown even where they are zero. */
const ALWAYS = new Set(['allocated', 'reserved', 'max_allocated', 'max_reserved']);
const MOST_COLUMNS = 5;
/** Rows; more groups become one row a stage, more stages one row. */
const MOST_GROUPS = 8;

interface GroupRow {
  readonly stage: number | null;
  readonly ranks: readonly (number | null)[];
  readonly groups: readonly results.MemoryGroup[];
}

function fold(groups: readonly results.MemoryGroup[]): GroupRow[] {
  if (groups.length <= MOST_GROUPS) return groups.map((group) => ({ ...group, groups: [group] }));
  const rowOf = (stage: number | null, members: readonly results.MemoryGroup[]): GroupRow => ({
    stage,
    ranks: members.flatMap(({ ranks }) => ranks),
    groups: members,
  });
  const stages = [...groupBy(groups, ({ stage }) => stage)];
  if (stages.length > MOST_GROUPS) return [rowOf(null, groups)];
  return stages.sort((a, b) => (a[0] ?? -1) - (b[0] ?? -1)).map(([stage, members]) => rowOf(stage, members));
}

/** The least and the greatest: `1.00 GiB`, or `1.00 GiB – 2.00 GiB` where they print differently. */
function range(values: readonly number[]): d.Cell {
  if (values.length === 0) return null;
  const [least, most] = [minOf(values), maxOf(values)];
  return formatBytes(least) === formatBytes(most) ? d.bytes(most) : d.t`${d.bytes(least)} – ${d.bytes(most)}`;
}

/** Nothing where no group has a figure of the allocator or the device's use. */
export function memoryGroupTable(groups: readonly results.MemoryGroup[]): d.MaybePart {
  // Optional columns with only zeros are left out.
  const isInformative = (value: number | undefined, metric: string): boolean =>
    value !== undefined && (value !== 0 || ALWAYS.has(metric));
  const columns = COLUMNS.filter(([metric, of]) =>
    groups.some((group) => isInformative(group[of][metric], metric)),
  ).slice(0, MOST_COLUMNS);
  const rows = fold(groups.filter((group) => columns.some(([metric, of]) => group[of][metric] !== undefined)));
  return d.table(
    columns.length === 0 ? [] : rows,
    [
      ...d.fieldsOf(rows, 'stage'),
      d.column('ranks', ({ ranks }) => rankList(ranks, 3)),
      ...columns.map(([metric, of]) =>
        d.column<GroupRow>(
          of === 'counts' ? metric : `${metric}_bytes`,
          (row) => {
            const values = row.groups.flatMap((group) => group[of][metric] ?? []);
            return of !== 'counts' ? range(values) : values.length === 0 ? null : maxOf(values);
          },
          { title: metricTitle(metric), align: 'right' },
        ),
      ),
    ],
    { key: 'memory' },
  );
}
