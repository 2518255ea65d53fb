/**
 * A change as lines to paste: a launch script, a recipe of Megatron Bridge, the command line of Megatron-LM, a recipe
 * of NeMo.
 */
import type { AdviceChange, PasteLines } from '../model/results/advise.js';
import { negatedFlags } from './config-keys.js';
import { loadData } from './load-data.js';
import { flagOf, pythonLiteral, shellValue, shellWords } from './value-text.js';

/**
 * `precision`: the named recipe of the configuration. Megatron Bridge makes an object of the name only when training
 * starts.
 */
export function pasteLines(
  { settings, env }: AdviceChange,
  { precision = null }: { readonly precision?: string | null } = {},
): PasteLines {
  const entries = Object.entries(settings);
  const bridge = entries.flatMap(([key, value]) =>
    placesOf(key).bridge.map((place) => `${asPlace(place, key)} = ${pythonLiteral(key, value)}`),
  );
  const isName = precision !== null && /^\w+$/.test(precision) && precision !== 'None';
  return {
    sbatch: [
      ...Object.entries(env).map(([name, value]) =>
        value === null ? `unset ${name}` : `export ${name}=${shellValue(value)}`,
      ),
      // The scheduler counts nodes, and how many GPUs one has is the cluster's.
      ...(settings['world_size'] == null ? [] : [`# ${settings['world_size']} GPUs: nodes × GPUs per node`]),
    ],
    megatron_bridge:
      isName && bridge.some((line) => line.startsWith('cfg.mixed_precision.'))
        ? [
            'from megatron.bridge.training.mixed_precision import get_mixed_precision_config',
            `cfg.mixed_precision = get_mixed_precision_config(${JSON.stringify(precision)})`,
            ...bridge,
          ]
        : bridge,
    megatron_lm: entries.flatMap(([key, value]) => {
      const line = flagLine(key, value);
      return line === null ? [] : [line];
    }),
    nemo: entries.flatMap(([key, value]) => placesOf(key).nemo.map((place) => nemoLine(place, key, value))),
    trainer: [],
    python: [],
  };
}

/** A flag of Megatron may be a word of NeMo: `strategy.fsdp = "megatron"`. */
function nemoLine(place: string, key: string, value: string | null): string {
  const [path = '', word] = asPlace(place, key).split('=');
  if (word === undefined) return `${path} = ${pythonLiteral(key, value)}`;
  return `${path} = ${value === 'True' ? JSON.stringify(word) : 'None'}`;
}

/** Argument → the flag that switches it off. */
let negations: ReadonlyMap<string, string> | undefined;
function negationFlag(argument: string): string | undefined {
  negations ??= readNegations();
  return negations.get(argument);
}

function readNegations(): ReadonlyMap<string, string> {
  const flags = new Map(
    Object.entries(negatedFlags())
      .filter(([flag]) => flag !== 'no_scaled_masked_softmax_fusion' && flag !== 'no_check_for_nan_in_loss')
      .map(([flag, argument]) => [argument, `--${flag.replaceAll('_', '-')}`]),
  );
  flags
    .set('pin_cpu_grads', '--no-pin-cpu-grads')
    .set('pin_cpu_params', '--no-pin-cpu-params')
    // One setting, two flags; nearly every model of today has SwiGLU.
    .set('bias_activation_fusion', '--no-bias-swiglu-fusion');
  // Off unless a flag sets it (`store_true`), so that leaving the flag out is what works in every release.
  flags.delete('cross_entropy_loss_fusion');
  flags.delete('sequence_parallel');
  return flags;
}

/** One line of Megatron-LM's command line; null where it lacks the argument. */
function flagLine(key: string, value: string | null): string | null {
  // Two flags, one for each value.
  if (key === 'grad_reduce_in_fp32' && value !== null)
    return value === 'True' ? '--accumulate-allreduce-grads-in-fp32' : '--grad-reduce-in-bf16';
  // The number of layers alone switches it on.
  if (key === 'cpu_offloading') return value === 'True' ? null : '# drop --cpu-offloading-num-layers';
  const flag = flagOf(key);
  if (flag === null) return null;
  const negation = negationFlag(key);
  if (value === 'True' && negation !== undefined) return `# drop ${negation}`;
  if (value === 'True') return flag;
  if (value === 'False' && negation !== undefined) return negation;
  if (value === null || value === 'False') return `# drop ${negation ?? flag}`;
  return `${flag} ${shellWords(value)}`;
}

interface Places {
  /** Paths; a star is the key. Several where both must agree. */
  readonly bridge: readonly string[];
  readonly nemo: readonly string[];
}

/** Without keys: the default. */
const ROWS = loadData('config-places') as readonly (Places & { readonly keys: readonly string[] })[];
const PLACES = new Map(ROWS.flatMap((row) => row.keys.map((key): [string, Places] => [key, row])));
const MODEL = ROWS.find(({ keys }) => keys.length === 0) ?? { bridge: [], nemo: [] };

/** Most settings are the model's, of `TransformerConfig` and its kin. */
function placesOf(key: string): Places {
  return PLACES.get(key) ?? MODEL;
}

function asPlace(place: string, key: string): string {
  return place.replace('*', key);
}
