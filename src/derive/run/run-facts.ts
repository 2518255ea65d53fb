/**
 * Who ran: world size, parallel sizes, versions, device. Each fact carries its source; none is guessed: what the texts
 * do not contain is null. A size that Megatron's arguments do not even name (context parallelism of old versions)
 * counts as 1 only inside computations.
 */
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import type { EnvResult, LogIncident, ParallelSizes, RunFacts, VersionName } from '../../model/results/log.js';
import { VERSION_NAMES } from '../../model/results/log.js';
import type { FoundFigure } from '../../model/settings-read.js';
import { formatCount } from '../../model/units.js';
import type { EffectiveConfig } from './config.js';
import { DEFAULT_RANK_ORDER } from './rank-layout.js';

/** The newest row of a figure or word, see `queries/log/values.sql`. */
export type NamedValue = FoundFigure;

export interface FactSources {
  readonly config: EffectiveConfig;
  readonly environment: Pick<EnvResult, 'variables'>;
  readonly values: readonly NamedValue[];
  readonly incidents: readonly LogIncident[];
  readonly snapshotSettings: readonly { readonly key: string; readonly value: string }[];
  /** Total of the device as a memory line prints it. */
  readonly deviceTotalBytes: number | null;
  readonly runCommit: string | null;
}

/** A fact under way: value and origin, or nothing. */
interface Fact<T> {
  readonly value: T;
  readonly origin: string;
}

const SIZE_KEYS: Readonly<Record<keyof ParallelSizes, readonly string[]>> = {
  tp: ['tensor_model_parallel_size', 'tensor_parallel_size', 'model_parallel_size'],
  pp: ['pipeline_model_parallel_size', 'pipeline_parallel_size'],
  vpp: ['virtual_pipeline_model_parallel_size'],
  cp: ['context_parallel_size'],
  ep: ['expert_model_parallel_size', 'expert_parallel_size'],
  dp: ['data_parallel_size'],
  etp: ['expert_tensor_parallel_size'],
};

/** Variables that hold the world size, the strongest first. */
const WORLD_SIZE_ENV = ['WORLD_SIZE', 'OMPI_COMM_WORLD_SIZE', 'SLURM_NTASKS'];

const VERSION_ENV: Partial<Record<VersionName, readonly string[]>> = {
  torch: ['PYTORCH_VERSION', 'TORCH_VERSION', 'PYTORCH_BUILD_VERSION'],
  cuda: ['CUDA_VERSION'],
  nccl: ['NCCL_VERSION'],
  transformer_engine: ['TRANSFORMER_ENGINE_VERSION'],
};

/** How formats may spell the part after `version.`. */
const VERSION_ALIASES: Readonly<Record<string, VersionName>> = {
  pytorch: 'torch',
  te: 'transformer_engine',
  mcore: 'megatron_core',
  megatron: 'megatron_core',
  bridge: 'megatron_bridge',
  nvidia_driver: 'driver',
};

export function runFacts(sources: FactSources): RunFacts {
  const origins: Record<string, string> = {};
  const keep = <T>(name: string, fact: Fact<T> | undefined): T | null => {
    if (fact === undefined) return null;
    origins[name] = fact.origin;
    return fact.value;
  };
  const sizes = printedSizes(sources);
  const worldSize = worldSizeOf(sources, sizes);
  const parallel: Record<keyof ParallelSizes, number | null> = {
    tp: keep('parallel.tp', sizes.tp),
    pp: keep('parallel.pp', sizes.pp),
    vpp: keep('parallel.vpp', sizes.vpp ?? virtualStages(sources, sizes.pp)),
    cp: keep('parallel.cp', sizes.cp),
    ep: keep('parallel.ep', sizes.ep),
    dp: keep('parallel.dp', sizes.dp ?? computedDataParallel(worldSize, sizes)),
    etp: keep('parallel.etp', sizes.etp),
  };
  const gpuTotal = deviceTotal(sources);
  const name = wordOf(sources, ['gpu.name', 'gpu.model', 'device.name']);
  const count = numberOf(sources, ['gpu.count']) ?? (worldSize && { value: worldSize.value, origin: 'world size' });
  return {
    world_size: keep('world_size', worldSize),
    parallel,
    versions: versionsOf(sources, keep),
    gpu: {
      name: keep('gpu.name', name),
      total_bytes: keep('gpu.total_bytes', gpuTotal),
      count: keep('gpu.count', count),
    },
    commits: commitsOf(sources, keep),
    allocator_conf: keep('allocator_conf', allocatorConf(sources)),
    origins,
  };
}

/** Megatron's order of ranks, as its arguments have it. */
export function rankOrderOf(config: EffectiveConfig): { readonly order: string; readonly origin: string } {
  const mapping = config.entry('use_tp_pp_dp_mapping');
  if (mapping?.value?.toLowerCase() === 'true') {
    return { order: 'tp-cp-ep-pp-dp', origin: `use_tp_pp_dp_mapping, ${placeOf(mapping)}` };
  }
  const order = config.entry('order');
  if (order?.value != null && /^(?:tp|cp|ep|dp|pp)(?:-(?:tp|cp|ep|dp|pp)){2,4}$/.test(order.value)) {
    return { order: order.value, origin: `order, ${placeOf(order)}` };
  }
  return { order: DEFAULT_RANK_ORDER, origin: "Megatron's default order" };
}

function placeOf(place: { readonly origin: string; readonly file: string; readonly line: number }): string {
  return `${place.origin}: ${place.file} line ${formatCount(place.line)}`;
}

function positive(text: string | null | undefined): number | undefined {
  const number = text === null || text === undefined || !/^\s*\d{1,9}(?:\.0+)?\s*$/.test(text) ? 0 : Number(text);
  return number >= 1 ? number : undefined;
}

function printedSizes({ config }: FactSources): Readonly<Partial<Record<keyof ParallelSizes, Fact<number>>>> {
  const sizes: Partial<Record<keyof ParallelSizes, Fact<number>>> = {};
  for (const [name, keys] of Object.entries(SIZE_KEYS) as [keyof ParallelSizes, readonly string[]][]) {
    for (const key of keys) {
      const entry = config.entry(key);
      const value = positive(entry?.value);
      if (entry === undefined || value === undefined) continue;
      sizes[name] = { value, origin: placeOf(entry) };
      break;
    }
  }
  return sizes;
}

function worldSizeOf(
  { config, environment, values }: FactSources,
  sizes: ReturnType<typeof printedSizes>,
): Fact<number> | undefined {
  const entry = config.entry('world_size');
  const printed = positive(entry?.value);
  if (entry !== undefined && printed !== undefined) return { value: printed, origin: placeOf(entry) };
  for (const key of WORLD_SIZE_ENV) {
    const variable = environment.variables.find((candidate) => candidate.key === key);
    const value = positive(variable?.value);
    if (variable !== undefined && value !== undefined) return { value, origin: `${key}, ${placeOf(variable)}` };
  }
  const figure = values.find(
    ({ name, value }) =>
      /(?:^|\.)world_size$/.test(name) && value !== null && value >= 1 && Number.isSafeInteger(value),
  );
  if (figure?.value != null)
    return { value: figure.value, origin: `${figure.name}: ${figure.file} line ${formatCount(figure.line)}` };
  const { tp, pp, dp } = sizes;
  if (tp !== undefined && pp !== undefined && dp !== undefined) {
    const cp = sizes.cp?.value ?? 1;
    return { value: tp.value * pp.value * dp.value * cp, origin: 'computed: tp × pp × cp × dp' };
  }
  return launchedWorld(config);
}

/** What a launcher was asked to start: an intention, so it comes last. */
function launchedWorld(config: EffectiveConfig): Fact<number> | undefined {
  const nodes = config.entry('nnodes');
  const count = positive(nodes?.value);
  if (nodes === undefined || count === undefined) return undefined;
  // One task a node starts torchrun; its processes are what counts.
  for (const key of ['nproc_per_node', 'gpus_per_node', 'ntasks_per_node']) {
    const entry = config.entry(key);
    const each = positive(entry?.value);
    if (entry !== undefined && each !== undefined)
      return { value: count * each, origin: `computed: nnodes × ${key}, ${placeOf(entry)}` };
  }
  return undefined;
}

function computedDataParallel(
  world: Fact<number> | undefined,
  { tp, pp, cp }: ReturnType<typeof printedSizes>,
): Fact<number> | undefined {
  if (world === undefined || tp === undefined) return undefined;
  const divisor = tp.value * (pp?.value ?? 1) * (cp?.value ?? 1);
  if (world.value % divisor !== 0) return undefined;
  const taken = [pp === undefined ? 'pp' : '', cp === undefined ? 'cp' : ''].filter((name) => name !== '');
  const note = taken.length === 0 ? '' : ` (${taken.join(' and ')} not mentioned, taken as 1)`;
  return { value: world.value / divisor, origin: `computed: world size / (tp × pp × cp)${note}` };
}

/** Megatron names either the number of virtual stages or the layers of one. */
function virtualStages({ config }: FactSources, pp: Fact<number> | undefined): Fact<number> | undefined {
  const perStage = config.entry('num_layers_per_virtual_pipeline_stage');
  const layers = positive(config.entry('num_layers')?.value);
  const size = positive(perStage?.value);
  if (pp === undefined || perStage === undefined || size === undefined || layers === undefined) return undefined;
  const stages = layers / (pp.value * size);
  return Number.isSafeInteger(stages)
    ? { value: stages, origin: `computed: num_layers / (pp × ${placeOf(perStage)})` }
    : undefined;
}

function originOf(figure: NamedValue): string {
  return `${figure.file} line ${formatCount(figure.line)}`;
}

function wordOf({ values }: FactSources, names: readonly string[]): Fact<string> | undefined {
  for (const name of names) {
    const matchingValue = values.find((candidate) => candidate.name === name && (candidate.text ?? '') !== '');
    if (matchingValue?.text != null) return { value: matchingValue.text, origin: originOf(matchingValue) };
  }
  return undefined;
}

function numberOf({ values }: FactSources, names: readonly string[]): Fact<number> | undefined {
  for (const name of names) {
    const matchingValue = values.find((candidate) => candidate.name === name && candidate.value !== null);
    if (matchingValue?.value != null) return { value: matchingValue.value, origin: originOf(matchingValue) };
  }
  return undefined;
}

/**
 * From a line about the device or a memory line; else what failure messages print as its total, which is what CUDA
 * reports, less than the data sheet.
 */
function deviceTotal(sources: FactSources): Fact<number> | undefined {
  const figure = numberOf(sources, ['gpu.total_bytes', 'gpu.total', 'gpu.memory', 'gpu.memory_bytes', 'device.total']);
  if (figure !== undefined) return figure;
  if (sources.deviceTotalBytes !== null)
    return { value: sources.deviceTotalBytes, origin: 'memory lines, device_total' };
  const message = sources.incidents.find(({ is_oom, total_bytes }) => is_oom && total_bytes !== null);
  if (message?.total_bytes == null) return undefined;
  return {
    value: message.total_bytes,
    origin: `total capacity in the OOM message: ${message.file} line ${formatCount(message.line)}`,
  };
}

function versionsOf(
  sources: FactSources,
  keep: <T>(name: string, fact: Fact<T> | undefined) => T | null,
): RunFacts['versions'] {
  const versionFacts = new Map<string, Fact<string>>();
  for (const figure of sources.values) {
    if (!figure.name.startsWith('version.')) continue;
    const word = figure.name.slice('version.'.length).toLowerCase().replaceAll('-', '_');
    const name = VERSION_ALIASES[word] ?? word;
    const text = figure.text ?? (figure.value === null ? null : String(figure.value));
    if (text !== null) versionFacts.set(name, { value: text, origin: originOf(figure) });
  }
  const torch = versionFacts.get('torch');
  const suffix = /\+cu(\d{2,3})(\d)$/.exec(torch?.value ?? '');
  if (torch !== undefined && suffix !== null && !versionFacts.has('cuda')) {
    versionFacts.set('cuda', {
      value: `${suffix[1]}.${suffix[2]}`,
      origin: `suffix of the torch version, ${torch.origin}`,
    });
  }
  const versions: Record<string, string | null> = {};
  for (const name of VERSION_NAMES) {
    const fact = versionFacts.get(name) ?? environmentVersion(sources, VERSION_ENV[name] ?? []);
    versions[name] = keep(`versions.${name}`, fact);
    versionFacts.delete(name);
  }
  for (const [name, fact] of versionFacts) versions[name] = keep(`versions.${name}`, fact);
  return versions as RunFacts['versions'];
}

function environmentVersion({ environment }: FactSources, keys: readonly string[]): Fact<string> | undefined {
  for (const key of keys) {
    const variable = environment.variables.find((candidate) => candidate.key === key);
    if (variable?.value != null) return { value: variable.value, origin: `${key}, ${placeOf(variable)}` };
  }
  return undefined;
}

function commitsOf(
  sources: FactSources,
  keep: <T>(name: string, fact: Fact<T> | undefined) => T | null,
): Record<string, string> {
  const commits: Record<string, string> = {};
  if (sources.runCommit !== null) {
    commits['run'] = sources.runCommit;
    keep('commits.run', { value: sources.runCommit, origin: '--commit of ingest' });
  }
  for (const figure of sources.values) {
    const match = /^(?:commit|git)\.(.{1,60})$/.exec(figure.name);
    if (match === null || figure.text === null) continue;
    commits[match[1]!] = figure.text;
    keep(`commits.${match[1]!}`, { value: figure.text, origin: originOf(figure) });
  }
  return commits;
}

/** The allocator's own record first. */
function allocatorConf({ environment, snapshotSettings }: FactSources): Fact<string> | undefined {
  for (const key of ALLOCATOR_VARIABLES) {
    const recorded = snapshotSettings.find((setting) => setting.key === key && setting.value !== '');
    if (recorded !== undefined) return { value: recorded.value, origin: `${key}, recorded in a memory snapshot` };
  }
  if (snapshotSettings.some(({ key }) => ALLOCATOR_VARIABLES.includes(key)))
    return { value: '', origin: 'recorded as unset in a memory snapshot' };
  const set = ALLOCATOR_VARIABLES.flatMap((key) => environment.variables.filter((variable) => variable.key === key));
  const strongest = set.find(({ value }) => value !== null);
  return strongest?.value == null
    ? undefined
    : { value: strongest.value, origin: `${strongest.key}, ${placeOf(strongest)}` };
}
