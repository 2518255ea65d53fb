/**
 * Settings that follow from others, under the key that rules look at. Frameworks migrate old spellings when they start; the place is that
 * of what was told.
 */
import type { RawFacts, Told } from './facts.js';

type Settings = Map<string, Told>;

/** The settings in force with what follows from them. */
export function derived({ settings }: RawFacts): ReadonlyMap<string, Told> {
  const result: Settings = new Map(settings);
  graphs(result);
  recompute(result);
  sizes(result);
  return result;
}

const isTrue = (told: Told | undefined): told is Told => told?.value != null && /^(?:true|1)$/i.test(told.value);

/** `enable_cuda_graph`, `external_cuda_graph` and the scope `full_iteration` are older spellings of `cuda_graph_impl`. */
function graphs(settings: Settings): void {
  const impl = settings.get('cuda_graph_impl');
  const modules = settings.get('cuda_graph_modules');
  const isFull = modules?.value?.includes('full_iteration') === true;
  if (impl === undefined) {
    const [enabled, external] = [settings.get('enable_cuda_graph'), settings.get('external_cuda_graph')];
    if (isTrue(external)) settings.set('cuda_graph_impl', { ...external, value: 'transformer_engine' });
    else if (isTrue(enabled))
      settings.set('cuda_graph_impl', { ...enabled, value: isFull ? 'full_iteration' : 'local' });
  } else if (impl.value === 'local' && isFull) settings.set('cuda_graph_impl', { ...impl, value: 'full_iteration' });
}

/** Selective recompute without a list of modules recomputes the core of attention; `--recompute-activations` is selective. */
function recompute(settings: Settings): void {
  const activations = settings.get('recompute_activations');
  if (isTrue(activations) && settings.get('recompute_granularity')?.value == null)
    settings.set('recompute_granularity', { ...activations, value: 'selective' });
  const granularity = settings.get('recompute_granularity');
  if (granularity?.value === 'selective' && settings.get('recompute_modules')?.value == null)
    settings.set('recompute_modules', { ...granularity, value: '["core_attn"]' });
}

function numberOf(settings: Settings, key: string, standard?: number): number | undefined {
  const text = settings.get(key)?.value;
  if (text == null) return standard;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Data parallelism follows from the world size; virtual stages from the layers of one. */
function sizes(settings: Settings): void {
  const pp = settings.get('pipeline_model_parallel_size');
  const layers = numberOf(settings, 'num_layers');
  const each = numberOf(settings, 'num_layers_per_virtual_pipeline_stage');
  if (settings.get('virtual_pipeline_model_parallel_size')?.value == null && pp !== undefined && layers && each) {
    const chunks = layers / (Number(pp.value) * each);
    const from = settings.get('num_layers_per_virtual_pipeline_stage')!;
    if (Number.isSafeInteger(chunks))
      settings.set('virtual_pipeline_model_parallel_size', { ...from, value: String(chunks) });
  }
  const world = settings.get('world_size');
  if (settings.has('data_parallel_size') || world === undefined) return;
  const parts = ['tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size'].map((key) =>
    numberOf(settings, key, 1),
  );
  const dp = parts.reduce<number>((rest, size) => rest / (size ?? Number.NaN), Number(world.value));
  if (Number.isSafeInteger(dp) && dp > 0) settings.set('data_parallel_size', { ...world, value: String(dp) });
}
