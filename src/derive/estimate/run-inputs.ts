/**
 * Inputs of an estimate as a stored run contains them: its settings in force, its parallel sizes, and the precision
 * recipe it names.
 */
import { CONFIG_INPUTS, type GivenInputs, type InputName } from '../../estimate/input-keys.js';
import { missingInputs } from '../../estimate/inputs.js';
import { recipeInputs } from '../../estimate/mixed-precision.js';
import { readInputs } from '../../estimate/read-inputs.js';
import type { EstimateInputValue } from '../../model/results/estimate.js';
import type { ConfigEntry, LogRun, ParallelSizes, RunFacts } from '../../model/results/log.js';
import { formatCount } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import { type EffectiveConfig, effectiveConfig, readSettings } from '../run/config.js';
import { readLogFacts } from '../run/log-facts.js';

export interface DeviceTotal {
  readonly bytes: number;
  readonly source: string;
}

export interface RunInputs {
  /** What can be estimated from; keys that are unknown, or null in the run, are absent. */
  readonly given: GivenInputs;
  /** The same with the source of each. */
  readonly values: readonly EstimateInputValue[];
  /** Keys without which there is no estimate; empty if all are known. */
  readonly missing: readonly InputName[];
  /** Settings that bear on an estimate and could not be read as what they should be, as sentences. */
  readonly unread: readonly string[];
  /** Null where unknown. */
  readonly device: DeviceTotal | null;
}

/** A value under way, with the key as it was written and its place. */
interface SourcedValue {
  readonly value: unknown;
  readonly origin: string;
}

const SIZES: readonly (readonly [InputName, keyof ParallelSizes])[] = [
  ['tp', 'tp'],
  ['pp', 'pp'],
  ['vpp', 'vpp'],
  ['cp', 'cp'],
  ['ep', 'ep'],
  ['etp', 'etp'],
  ['dp', 'dp'],
];

/**
 * Defaults of Megatron-LM's arguments. Upstream: `megatron/training/arguments.py`. Its logs print all of them; a
 * command line does not.
 */
const ARGUMENT_DEFAULTS: readonly (readonly [InputName, unknown])[] = [
  ['position_embedding_type', 'learned_absolute'],
  ['hidden_dropout', 0.1],
  ['attention_dropout', 0.1],
  ['create_attention_mask_in_dataloader', true],
];

export async function readRunInputs(store: Store, runId: number): Promise<RunInputs> {
  const config = effectiveConfig(await readSettings(store, runId));
  const { facts, values } = await readLogFacts(store, runId);
  return runInputs(
    config,
    facts,
    values.find(({ name, text }) => name === 'optimizer.implementation' && text === 'torch'),
  );
}

/** The log line that shows torch's optimizers in use. */
type Fallback = Pick<LogRun['values'][number], 'file' | 'line'>;

function runInputs(config: EffectiveConfig, facts: RunFacts, fallback: Fallback | undefined): RunInputs {
  const sourced = new Map<InputName, SourcedValue>();
  for (const entry of config.settings) {
    const name = CONFIG_INPUTS.get(entry.key);
    if (name !== undefined) sourced.set(name, { value: entry.value, origin: placeOf(entry) });
  }
  // A function in a written-out configuration of Bridge is a node of its own.
  const activation = config.entry('activation_func._target_');
  if (activation !== undefined)
    sourced.set('activation_func', { value: activation.value, origin: placeOf(activation) });
  applyRecipe(config, sourced);
  // The run's own account of its sizes: a banner is worth more than what a file intended, and some sizes are only
  // computed.
  for (const [name, size] of SIZES) {
    const value = facts.parallel[size];
    if (value !== null) sourced.set(name, { value, origin: facts.origins[`parallel.${size}`] ?? 'the run' });
  }
  if (facts.world_size !== null)
    sourced.set('world', { value: facts.world_size, origin: facts.origins['world_size'] ?? 'the run' });
  if (config.entry('num_layers')?.raw_key.startsWith('--') === true)
    for (const [name, value] of ARGUMENT_DEFAULTS)
      if (!sourced.has(name)) sourced.set(name, { value, origin: 'default of Megatron-LM’s arguments' });
  if (fallback !== undefined)
    sourced.set('use_torch_optimizer', { value: true, origin: `${fallback.file} line ${formatCount(fallback.line)}` });
  const { given, faults } = readInputs([...sourced].map(([name, { value }]) => [name, value] as const));
  const values = [...sourced].flatMap(([name, { origin }]) => {
    const value = given[name];
    return value === undefined ? [] : [{ key: name, value, origin }];
  });
  return {
    given,
    values,
    missing: missingInputs(given),
    unread: faults.map(
      ({ key, fact }) => `${fact} (${sourced.get(key as InputName)?.origin ?? 'the run'}): treated as unknown.`,
    ),
    device:
      facts.gpu.total_bytes === null
        ? null
        : { bytes: facts.gpu.total_bytes, source: facts.origins['gpu.total_bytes'] ?? 'the run' },
  };
}

/**
 * A named recipe overwrites the values of files when training starts; what the running program printed of its objects
 * is the outcome already. The recipe's name itself is then not an input any more.
 */
function applyRecipe(config: EffectiveConfig, sourced: Map<InputName, SourcedValue>): void {
  const recipe = config.entry('mixed_precision');
  if (recipe?.value == null) return;
  sourced.delete('mixed_precision');
  for (const [name, value] of Object.entries(recipeInputs(recipe.value)) as [InputName, unknown][]) {
    const entry = config.entry(name);
    const isOutcome = entry !== undefined && entry.value !== null && entry.origin === 'log dump';
    if (!isOutcome) sourced.set(name, { value, origin: `recipe ${recipe.value}, ${placeOf(recipe)}` });
  }
}

function placeOf(entry: ConfigEntry): string {
  return `${entry.origin}: ${entry.file} line ${formatCount(entry.line)}`;
}
