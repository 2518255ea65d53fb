/** Golden values: which there are, and what one of them holds runs to. */
import { pushAll } from '../../model/lists.js';
import type { MeasuredPeak, MeasuredRank, MeasuredSteps, Measurement } from '../../model/measurement.js';
import type { GoldenChangeResult, GoldenListResult, GoldenShowResult, NoiseBand } from '../../model/results/golden.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { tidy } from '../screen-lines.js';
import { screenText } from '../screen-text.js';
import { keepEnd, left, printable, right, table, tableOf } from '../table.js';
import {
  byteRange,
  bytesOr,
  counted,
  figure,
  labelledList,
  paragraph,
  rankList,
  rankName,
  shortText,
  stepTime,
  UNKNOWN,
  wrapped,
} from '../text-pieces.js';
import { checkFigure, nameOf, shortCommit } from './check-words.js';

export function goldenListText({ db, goldens }: GoldenListResult): string {
  const place = shortText(db, 70);
  if (goldens.length === 0)
    return screenText([`no golden values in ${place}; golden add RUN --name NAME makes them of a run`]);
  return screenText([
    `golden values in ${place}`,
    '',
    ...tableOf(goldens, [
      left('golden', (golden) => keepEnd(golden.name, 26)),
      right('runs', (golden) => formatCount(golden.runs)),
      left('commit', (golden) => shortText(commitList(golden.commits), 14)),
      left('ended', (golden) => golden.ending ?? 'differs'),
      right('allocated', (golden) => bytesOr(golden.peak_allocated_bytes)),
      right('step', (golden) => stepTime(golden.step_ms)),
      right('spread', (golden) => (golden.spread_percent === null ? UNKNOWN : `${golden.spread_percent.toFixed(2)} %`)),
      left('added', (golden) => printable(golden.added_at.slice(0, 10))),
    ]).split('\n'),
  ]);
}

/** The first, and how many others there are. */
function commitList(commits: readonly (string | null)[]): string {
  const known = [...new Set(commits.filter((commit): commit is string => commit !== null))].map(shortCommit);
  if (known.length === 0) return UNKNOWN;
  return known.length === 1 ? known[0]! : `${known[0]} +${known.length - 1}`;
}

export function goldenShowText(result: GoldenShowResult): string {
  const { name, source, runs, bands } = result;
  const count = counted(runs.length, 'run');
  const lines = [...paragraph(`golden ${shortText(name, 60)}: ${count}, from ${tidy(source)}`)];
  if (runs.length === 0) return screenText([...lines, '', 'it holds no run']);
  const surroundings = [
    ...facts('versions', [mergedWords(runs.map(({ versions }) => versions))]),
    ...facts('allocator', allocatorWords(runs)),
    ...configLines(runs),
    ...facts('disturbed', distinct(runs.flatMap(({ disturbances }) => disturbances.map(({ text }) => text)))),
  ];
  pushAll(lines, [
    ...facts('job', distinct(runs.map(jobWords))),
    '',
    ...runTable(runs),
    ...stageLines(runs),
    ...peakLines(runs),
    ...stepLines(runs),
    ...bandLines(bands),
    ...(surroundings.length === 0 ? [] : ['', ...surroundings]),
  ]);
  return screenText(lines);
}

/** A label with one text below the other; nothing for none. */
function facts(label: string, texts: readonly string[]): string[] {
  return labelledList(label, texts.filter((text) => text !== '').map(tidy));
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];

/** Several texts where runs differ in what they should have in common. */
function jobWords({ world_size, gpu, parallel }: Measurement): string {
  const layout = Object.entries(parallel)
    .filter(([, size]) => size !== null && size !== 1)
    .map(([name, size]) => `${name.toUpperCase()} ${size}`);
  const device = gpu.name ?? (gpu.total_bytes === null ? '' : 'GPUs');
  const total = gpu.total_bytes === null ? '' : ` (${formatBytes(gpu.total_bytes)})`;
  const parts = [world_size === null ? '' : `${formatCount(world_size)} ranks`, `${device}${total}`, layout.join(' ')];
  return parts.filter((part) => part !== '').join(' · ');
}

/** Largest over ranks; null where no rank prints it. */
function largest(ranks: readonly MeasuredRank[], of: (rank: MeasuredRank) => number | null): number | null {
  const values = ranks.map(of).filter((value): value is number => value !== null);
  return values.length === 0 ? null : values.reduce((a, b) => Math.max(a, b));
}

const allocated = (rank: MeasuredRank): number | null => rank.peak_allocated_bytes;
const reserved = (rank: MeasuredRank): number | null => rank.peak_reserved_bytes;

function runTable(runs: readonly Measurement[]): string[] {
  const failures = runs.flatMap(({ run, status: { failure, verdict } }) =>
    failure === null && verdict === null
      ? []
      : [`${run}: ${verdict?.summary ?? failure?.text ?? ''}${failure === null ? '' : ` (${failure.kind})`}`],
  );
  return [
    ...tableOf(runs, [
      left('run', ({ run }) => keepEnd(run, 24)),
      left('commit', ({ commit }) => shortText(commit === null ? UNKNOWN : shortCommit(commit), 10)),
      left('ended', ({ status }) => status.ending),
      right('iterations', ({ status }) => iterationWords(status)),
      right('allocated', ({ ranks }) => bytesOr(largest(ranks, allocated))),
      right('reserved', ({ ranks }) => bytesOr(largest(ranks, reserved))),
      right('step', ({ steps }) => stepTime(steps?.median_ms)),
    ]).split('\n'),
    ...facts('failed', failures),
  ];
}

/** `1–50 of 100`. */
function iterationWords({
  first_iteration: first,
  last_iteration: last,
  target_iterations: target,
}: Measurement['status']): string {
  if (first === null || last === null) return UNKNOWN;
  return `${first}–${last}${target === null || target === last ? '' : ` of ${target}`}`;
}

/** Of each stage the rank that has most, from run to run. */
function stageLines(runs: readonly Measurement[]): string[] {
  const ranks = runs.flatMap((run) => run.ranks);
  const stages = [...new Set(ranks.map(({ stage }) => stage))].toSorted((a, b) => (a ?? 1e9) - (b ?? 1e9));
  if (ranks.length === 0) return [];
  const range = (stage: number | null, of: (rank: MeasuredRank) => number | null): string =>
    byteRange(
      runs
        .map((run) =>
          largest(
            run.ranks.filter((rank) => rank.stage === stage),
            of,
          ),
        )
        .filter((value): value is number => value !== null),
    );
  return [
    '',
    'peaks by stage, of the rank that has most',
    ...tableOf(stages, [
      left('stage', (stage) => (stage === null ? 'unknown' : stage)),
      left('ranks', (stage) =>
        shortText(
          rankList(
            ranks.filter((rank) => rank.stage === stage).map(({ rank }) => rank),
            3,
          ),
          18,
        ),
      ),
      right('first allocated', (stage) => range(stage, ({ first_peak_allocated_bytes: first }) => first)),
      right('allocated', (stage) => range(stage, allocated)),
      right('reserved', (stage) => range(stage, reserved)),
    ]).split('\n'),
  ];
}

/** Of the snapshot with the most active bytes. */
function peakLines(runs: readonly Measurement[]): string[] {
  const peaks = runs.flatMap((run) => run.peaks);
  const peak = peaks.reduce<MeasuredPeak | undefined>(
    (most, one) => (most === undefined || one.active_bytes > most.active_bytes ? one : most),
    undefined,
  );
  if (peak === undefined) return [];
  const parts = Object.entries(peak.components)
    .filter(([, bytes]) => bytes !== 0)
    .toSorted(([, a], [, b]) => b - a);
  const remainingBytes = peak.active_bytes - parts.reduce((sum, [, bytes]) => sum + bytes, 0);
  const rank = rankName(peak.rank);
  const approximate = peak.basis === 'actual' ? '' : ' (approximate)';
  const words = parts.map(([component, bytes]) => `${component} ${formatBytes(bytes)}`);
  if (remainingBytes !== 0) words.push(`unknown ${formatBytes(remainingBytes)}`);
  const at = peak.moment === 'dump' ? 'as dumped' : 'at the peak';
  return [
    '',
    ...paragraph(
      `components ${at} of ${tidy(peak.handle)}, ${rank}, device ${peak.device}: ${formatBytes(peak.active_bytes)} active${approximate}, ${formatBytes(peak.reserved_bytes)} reserved`,
    ),
    ...wrapped(`  ${words.join(', ')}`, '  '),
  ];
}

const WINDOWS_SHOWN = 3;

/** The steady window of each run. */
function stepLines(runs: readonly Measurement[]): string[] {
  const texts = runs.flatMap(({ run, steps }) => (steps === null ? [] : [`${run}: ${windowWords(steps)}`]));
  const more = texts.length - WINDOWS_SHOWN;
  const shown = [...texts.slice(0, WINDOWS_SHOWN), ...(more > 0 ? [`and of ${formatCount(more)} more (--json)`] : [])];
  return texts.length === 0 ? [] : ['', ...facts('step time', shown)];
}

function windowWords(steps: MeasuredSteps): string {
  const { median_tflops: tflops, spread_tflops: spread } = steps;
  const deviation = spread === null ? '' : ` ± ${figure(spread)}`;
  const parts = [
    `${stepTime(steps.median_ms)} ± ${stepTime(steps.spread_ms)}`,
    `over ${formatCount(steps.count)} iterations from ${steps.from} to ${steps.to}, ${formatCount(steps.warm_up)} before left out`,
    `from ${stepTime(steps.min_ms)} to ${stepTime(steps.max_ms)}`,
    ...(tflops === null ? [] : [`${figure(tflops)}${deviation} TFLOP/s/GPU`]),
  ];
  return parts.join('; ');
}

function bandLines(bands: readonly NoiseBand[]): string[] {
  if (bands.length === 0) return [];
  const value = (number: number | null, unit: string): string => checkFigure(number, unit);
  const rows = bands.map(({ metric, unit, runs, low, median, high, spread }) => [
    keepEnd(nameOf({ name: metric, unit }), 34),
    formatCount(runs),
    value(low, unit),
    value(median, unit),
    value(high, unit),
    spread === null
      ? UNKNOWN
      : `${value(spread, unit)}${median === 0 ? '' : `, ${((100 * spread) / median).toFixed(2)} %`}`,
  ]);
  const columns = [left('metric'), ...['runs', 'low', 'median', 'high', 'spread'].map((title) => right(title))];
  return ['', 'noise between runs', ...table(columns, rows, '  ').split('\n')];
}

/** `torch 2.6.0, cuda 12.4 | 12.8`: both where runs differ. */
function mergedWords(records: readonly Readonly<Record<string, string>>[]): string {
  return [...merged(records)].map(([key, values]) => `${key} ${values.join(' | ')}`).join(', ');
}

function merged(records: readonly Readonly<Record<string, string>>[]): Map<string, string[]> {
  const all = new Map<string, string[]>();
  for (const [key, value] of records.flatMap((record) => Object.entries(record))) {
    const values = all.get(key);
    if (values === undefined) all.set(key, [value]);
    else if (!values.includes(value)) values.push(value);
  }
  return all;
}

/** As the environment sets it, then as snapshots record it. */
function allocatorWords(runs: readonly Measurement[]): string[] {
  const set = distinct(
    runs.flatMap(({ allocator_conf: conf }) => (conf === null ? [] : [conf === '' ? '(empty)' : conf])),
  );
  const recorded = merged(runs.flatMap(({ peaks }) => peaks.map(({ settings }) => settings)));
  // Torch records a division for every power of two, most of them off.
  const shown = [...recorded].filter(
    ([key, values]) =>
      !(key.startsWith('roundup_power2_divisions.') && values.every((value) => value === '0' || value === '1')),
  );
  const words = shown.map(([key, values]) => `${key}=${values.join('|')}`);
  return [
    ...set,
    words.length === 0 ? '' : `recorded: ${words.slice(0, 12).join(' ')}${words.length > 12 ? ' …' : ''}`,
  ];
}

const CONFIG_SHOWN = 12;
/** What is asked for first when memory differs, in this order. */
const MEMORY_KEYS: readonly string[] = [
  'micro_batch_size',
  'global_batch_size',
  'seq_length',
  'tensor_model_parallel_size',
  'pipeline_model_parallel_size',
  'virtual_pipeline_model_parallel_size',
  'context_parallel_size',
  'expert_model_parallel_size',
  'sequence_parallel',
  'recompute_granularity',
  'recompute_method',
  'recompute_num_layers',
  'recompute_modules',
  'use_distributed_optimizer',
  'use_precision_aware_optimizer',
  'data_parallel_sharding_strategy',
  'num_layers',
  'hidden_size',
  'ffn_hidden_size',
  'num_moe_experts',
  'moe_token_dispatcher_type',
  'bf16',
  'fp16',
  'fp8',
  'fp8_recipe',
  'cuda_graph_impl',
  'cpu_offloading',
  'optimizer_cpu_offload',
  'overlap_grad_reduce',
  'overlap_param_gather',
];

/** The settings that affect memory most, without those that are off; the others are counted. */
function configLines(runs: readonly Measurement[]): string[] {
  const all = merged(runs.map(({ config }) => config));
  if (all.size === 0) return [];
  const isSet = (key: string): boolean => all.get(key)?.some((value) => value !== 'null' && value !== '') === true;
  const shown = MEMORY_KEYS.filter(isSet).slice(0, CONFIG_SHOWN);
  const words = shown.map(
    (key) =>
      `${key} ${all
        .get(key)!
        .map((value) => shortText(value, 30))
        .join(' | ')}`,
  );
  const hiddenCount = all.size - shown.length;
  const more =
    hiddenCount === 0
      ? ''
      : `${words.length === 0 ? '' : '; '}${formatCount(hiddenCount)} other ${hiddenCount === 1 ? 'setting' : 'settings'} (--json)`;
  return facts('config', [printable(`${words.join(', ')}${more}`)]);
}

const WORDS: Readonly<Record<GoldenChangeResult['change'], string>> = {
  added: 'now of',
  written: 'written, of',
  removed: 'removed, of',
};

export function goldenChangeText({ change, name, runs, where }: GoldenChangeResult): string {
  return `golden ${name}: ${WORDS[change]} ${counted(runs, 'run')} (${where})\n`;
}
