/** Golden values: which there are, and what one of them holds runs to. */

import type { MeasuredPeak, MeasuredRank, MeasuredSteps, Measurement } from '../../model/measurement.js';
import type { GoldenChangeResult, GoldenListResult, GoldenShowResult, NoiseBand } from '../../model/results/golden.js';
import { formatBytes, formatCount } from '../../model/units.js';
import * as d from '../document/document.js';
import { isUnusedDivision } from '../run/unused-division.js';
import { byteRange, figure, plain, rankList, UNKNOWN } from '../text-pieces.js';
import { wordOf } from '../words/fill.js';
import { nameOf, shortCommit } from './check-words.js';
import { checkCell } from './difference.js';

export function goldenListDocument({ schema, db, goldens }: GoldenListResult): d.Document {
  const place = d.as('db', d.code(db));
  if (goldens.length === 0)
    return d.document(
      schema,
      d.t`No golden values in ${place}`,
      d.paragraph(d.t`${d.code('mbforensics golden add RUN --name NAME')} makes them of a run`, { key: 'help' }),
    );
  return d.document(
    schema,
    d.t`Golden values in ${place}`,
    d.table(
      goldens,
      [
        d.names('name', (golden) => golden.name, { title: 'golden' }),
        d.counts('runs', (golden) => golden.runs),
        d.names('commit', (golden) => commitList(golden.commits)),
        d.column('ending', ({ ending }) => (ending === null ? 'differs' : plain(ending)), { title: 'ended' }),
        d.column('peak_allocated_bytes', (golden) => golden.peak_allocated_bytes),
        d.column('step_ms', (golden) => golden.step_ms),
        d.column('spread_share', ({ spread_percent: spread }) =>
          d.shownAs(spread, spread === null ? UNKNOWN : `${spread.toFixed(2)} %`),
        ),
        d.column('added_at', (golden) => golden.added_at.slice(0, 10), { title: 'added' }),
      ],
      { key: 'goldens', fields: ({ ending, added_at }) => ({ ending, added_at }) },
    ),
  );
}

/** The first, and how many others there are. */
function commitList(commits: readonly (string | null)[]): string {
  const [first, ...more] = new Set(commits.filter((commit) => commit !== null).map(shortCommit));
  return `${first ?? UNKNOWN}${more.length === 0 ? '' : ` +${more.length}`}`;
}

const changeName = wordOf('codes', 'golden_changes');

export const goldenChangeDocument = ({ schema, change, name, runs, where }: GoldenChangeResult): d.Document => ({
  ...d.document(
    schema,
    d.t`golden ${d.as('name', d.code(name))}: ${changeName(change)} ${d.counted(runs, 'run', 'runs', 'runs')} (${d.as('where', d.code(where))})`,
  ),
  fields: { change },
});

export function goldenShowDocument({ schema, name, source, runs, bands }: GoldenShowResult): d.Document {
  const job = distinct(runs.map(jobWords)).join('; ');
  return d.document(
    schema,
    d.t`golden ${d.as('name', d.code(name))}: ${d.counted(runs.length, 'run')}, from ${d.as('source', d.code(source))}`,
    ...(runs.length === 0
      ? [d.paragraph('it holds no run')]
      : [
          job !== '' && d.paragraph(job, { key: 'job' }),
          runTable(runs),
          stageSection(runs),
          peakSection(runs),
          d.section('Step time', {}, stepTable(runs)),
          runs.length > 1 && d.section('Noise between runs', {}, bandTable(bands)),
          d.section('Settings', {}, d.facts(surroundings(runs), { key: 'settings' })),
        ]),
  );
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];

function jobWords({ world_size: ranks, gpu, parallel }: Measurement): string {
  const layout = Object.entries(parallel)
    .filter(([, size]) => size !== null && size !== 1)
    .map(([name, size]) => `${name.toUpperCase()} ${size}`);
  const total = gpu.total_bytes === null ? '' : ` (${formatBytes(gpu.total_bytes)})`;
  const device = `${gpu.name ?? (total === '' ? '' : 'GPUs')}${total}`;
  return [ranks === null ? '' : `${formatCount(ranks)} ranks`, device, layout.join(' ')]
    .filter((part) => part !== '')
    .join(' · ');
}

type OfRank = (rank: MeasuredRank) => number | null;
const allocated: OfRank = (rank) => rank.peak_allocated_bytes;
const reserved: OfRank = (rank) => rank.peak_reserved_bytes;

/** Largest over ranks; null where no rank prints it. */
const largest = (ranks: readonly MeasuredRank[], of: OfRank): number | null =>
  ranks.map(of).reduce((most, value) => (value === null || (most !== null && most >= value) ? most : value), null);

const runTable = (runs: readonly Measurement[]): d.MaybePart =>
  d.table(
    runs,
    [
      d.names('run', ({ run }) => run),
      d.names('commit', ({ commit }) => (commit === null ? null : shortCommit(commit))),
      d.column('ending', ({ status }) => plain(status.ending), { title: 'ended' }),
      d.column('iterations', ({ status }) => iterationWords(status), { align: 'right' }),
      d.column('peak_allocated_bytes', ({ ranks }) => largest(ranks, allocated)),
      d.column('peak_reserved_bytes', ({ ranks }) => largest(ranks, reserved)),
      d.column('step_ms', ({ steps }) => steps?.median_ms ?? null),
    ],
    {
      key: 'runs',
      fields: ({ status: { ending } }) => ({ ending }),
      under: ({ status: { failure, verdict } }) =>
        failure === null && verdict === null
          ? []
          : [`${verdict?.summary ?? failure?.text}${failure === null ? '' : ` (${failure.kind})`}`],
    },
  );

/** `1–50 of 100`. */
function iterationWords(status: Measurement['status']): d.Cell {
  const { first_iteration: first, last_iteration: last, target_iterations: target } = status;
  if (first === null || last === null) return null;
  return d.t`${first}–${last}${target === null || target === last ? '' : d.t` of ${target}`}`;
}

/** Of each stage the rank that has most, from run to run. */
function stageSection(runs: readonly Measurement[]): d.MaybePart {
  const ranks = runs.flatMap((run) => run.ranks);
  const stages = [...new Set(ranks.map(({ stage }) => stage))].toSorted((a, b) => (a ?? 1e9) - (b ?? 1e9));
  const range = (stage: number | null, of: OfRank): d.Text => {
    const sizes = runs.map((run) =>
      largest(
        run.ranks.filter((rank) => rank.stage === stage),
        of,
      ),
    );
    return byteRange(sizes.filter((size) => size !== null));
  };
  return d.section(
    'Peaks by stage, of the rank that has most',
    {},
    d.table(
      stages,
      [
        d.column('stage', (stage) => stage ?? 'unknown', { align: 'left' }),
        d.column('ranks', (stage) => rankList(ranks.filter((rank) => rank.stage === stage).map(({ rank }) => rank))),
        d.column('first_allocated', (stage) => range(stage, (rank) => rank.first_peak_allocated_bytes), RIGHT),
        d.column('allocated', (stage) => range(stage, allocated), RIGHT),
        d.column('reserved', (stage) => range(stage, reserved), RIGHT),
      ],
      { key: 'stages' },
    ),
  );
}
const RIGHT = { align: 'right' } as const;

/** Of the snapshot with the most active bytes. */
function peakSection(runs: readonly Measurement[]): d.MaybePart {
  const peaks = runs.flatMap((run) => run.peaks);
  const [peak] = peaks.toSorted((a, b) => b.active_bytes - a.active_bytes);
  if (peak === undefined) return null;
  const { handle, rank, device, moment, basis, active_bytes: active } = peak;
  return d.section(
    `Components ${moment === 'dump' ? 'as dumped' : 'at the peak'}`,
    { key: 'peak' },
    d.paragraph(
      d.t`${d.joined([d.as('handle', d.code(handle)), rank !== null && `rank ${rank}`, `device ${device}`], ' · ')}: ${d.as('active_bytes', d.bytes(active))} active${basis === 'actual' ? '' : ' (approximate)'}, ${d.as('reserved_bytes', d.bytes(peak.reserved_bytes))} reserved`,
    ),
    d.table(
      componentsOf(peak),
      [
        d.column('component', ([component]) => component),
        d.column('bytes', ([, size]) => size, { title: 'live' }),
        d.column('share', ([, size]) => size / active),
      ],
      { key: 'components' },
    ),
  );
}

function componentsOf({ components, active_bytes: active }: MeasuredPeak): (readonly [string, number])[] {
  const known = Object.entries(components).filter(([, size]) => size !== 0);
  const left = active - known.reduce((sum, [, size]) => sum + size, 0);
  return [...known.toSorted(([, a], [, b]) => b - a), ...(left === 0 ? [] : [['unknown', left] as const])];
}

/** The steady window of each run. */
function stepTable(runs: readonly Measurement[]): d.MaybePart {
  const rows = runs.flatMap(({ run, steps }) => (steps === null ? [] : [{ run, ...steps }]));
  const deviation = (value: number | null, spread: number | null): d.Cell =>
    value === null ? null : `${figure(value)}${spread === null ? '' : ` ± ${figure(spread)}`}`;
  return d.table<MeasuredSteps & { readonly run: string }>(rows, [
    d.names('run', ({ run }) => run),
    d.column('median_ms', (one) => d.t`${d.ms(one.median_ms)} ± ${d.ms(one.spread_ms)}`),
    d.column('min_ms', (one) => one.min_ms, { title: 'least' }),
    d.column('max_ms', (one) => one.max_ms, { title: 'greatest' }),
    d.column('iterations', ({ from, to }) => d.t`${from}–${to}`, RIGHT),
    d.counts('warm_up', (one) => one.warm_up, { title: 'left out before' }),
    d.column('tflops', (one) => deviation(one.median_tflops, one.spread_tflops), { title: 'TFLOP/s/GPU', ...RIGHT }),
  ]);
}

const bandTable = (bands: readonly NoiseBand[]): d.MaybePart =>
  d.table(
    bands,
    [
      d.names('metric', ({ metric, unit }) => nameOf({ name: metric, unit })),
      d.counts('runs', ({ runs }) => runs),
      ...(['low', 'median', 'high', 'spread'] as const).map((key) =>
        d.column<NoiseBand>(key, (band) => checkCell(band[key], band.unit), RIGHT),
      ),
      d.column(
        'spread_share',
        ({ spread, median }) =>
          spread === null || median === 0
            ? ''
            : d.shownAs(spread / median, `${((100 * spread) / median).toFixed(2)} %`),
        { title: '' },
      ),
    ],
    { key: 'bands', fields: ({ metric, unit }) => ({ metric, unit }) },
  );

const CONFIG_SHOWN = 12;
/** What is asked for first when memory differs, in this order. */
const MEMORY_KEYS: readonly string[] = `
  micro_batch_size global_batch_size seq_length tensor_model_parallel_size pipeline_model_parallel_size
  virtual_pipeline_model_parallel_size context_parallel_size expert_model_parallel_size sequence_parallel
  recompute_granularity recompute_method recompute_num_layers recompute_modules use_distributed_optimizer
  use_precision_aware_optimizer data_parallel_sharding_strategy num_layers hidden_size ffn_hidden_size num_moe_experts
  moe_token_dispatcher_type bf16 fp16 fp8 fp8_recipe cuda_graph_impl cpu_offloading optimizer_cpu_offload
  overlap_grad_reduce overlap_param_gather`
  .trim()
  .split(/\s+/);

/** Several texts where runs differ in what they should have in common. */
function surroundings(runs: readonly Measurement[]) {
  const versions = merged(runs.map((run) => run.versions));
  const set = distinct(runs.flatMap(({ allocator_conf: conf }) => (conf === null ? [] : [conf || '(empty)'])));
  const recorded = [...merged(runs.flatMap(({ peaks }) => peaks.map(({ settings }) => settings)))].filter(
    ([key, values]) => !values.every((value) => isUnusedDivision(key, value)),
  );
  const config = merged(runs.map((run) => run.config));
  const isSet = (key: string): boolean => config.get(key)?.some((value) => value !== 'null' && value !== '') === true;
  const shown = MEMORY_KEYS.filter(isSet).slice(0, CONFIG_SHOWN);
  const disturbed = distinct(runs.flatMap(({ disturbances }) => disturbances.map(({ text }) => text)));
  const list = (values: Iterable<readonly [string, readonly string[]]>, between: string): string[] =>
    [...values].map(([key, texts]) => `${key}${between}${texts.join(' | ')}`);
  const line = (key: string, texts: readonly string[], separator: string) =>
    texts.length > 0 && d.fact(key, texts.join(separator));
  const more = config.size - shown.length;
  return [
    line('versions', list(versions, ' '), ', '),
    line('allocator', set, '; '),
    line('recorded', list(recorded, '='), ' '),
    line(
      'config',
      list(
        shown.map((key) => [key, config.get(key)!] as const),
        ' ',
      ),
      ', ',
    ),
    more > 0 && d.fact('other_settings', d.t`${more} (--json=full)`),
    line('disturbed', disturbed, '; '),
  ];
}

/** The values of each key: `12.4 | 12.8` where runs differ. */
function merged(records: readonly Readonly<Record<string, string>>[]): Map<string, string[]> {
  const all = new Map<string, string[]>();
  for (const [key, value] of records.flatMap((record) => Object.entries(record)))
    all.set(key, distinct([...(all.get(key) ?? []), value]));
  return all;
}
