/** A configuration as it would be with a change. */
import type { AdviceChange } from '../../model/results/advise.js';
import type { ExplicitValue, RawFacts } from './facts.js';
import { FOLLOWS } from './follows.js';

/** The facts as they would be with a change. */
export function changedFacts(facts: RawFacts, change: AdviceChange, origin = 'advice'): RawFacts {
  const explicit = (key: string, value: string | null): ExplicitValue => ({
    value,
    raw_key: key,
    origin,
    file: '',
    line: 0,
  });
  const settings = new Map(facts.settings);
  // The number of replicas follows from the number of GPUs; if only the replicas are explicit, the GPUs follow from
  // them.
  const world = worldOf(facts);
  if (world !== null && settings.get('world_size')?.value == null) settings.set('world_size', world);
  for (const [key, sources] of Object.entries(FOLLOWS))
    if (!(key in change.settings) && sources.some((source) => source in change.settings)) settings.delete(key);
  for (const [key, value] of Object.entries(change.settings)) settings.set(key, explicit(key, value));
  const env = new Map(facts.env);
  for (const [key, value] of Object.entries(change.env)) env.set(key, explicit(key, value));
  const { trained, ...others } = { ...facts, settings, env };
  // No run is known that was trained with the change.
  const isChanged = Object.keys(change.settings).length + Object.keys(change.env).length > 0;
  return isChanged || trained === undefined ? others : { ...others, trained };
}

function worldOf({ settings }: RawFacts): ExplicitValue | null {
  const replicas = settings.get('data_parallel_size');
  if (replicas?.value == null) return null;
  const sizes = ['tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size'].map((key) =>
    Number(settings.get(key)?.value ?? 1),
  );
  const world = sizes.reduce((product, size) => product * size, Number(replicas.value));
  return Number.isSafeInteger(world) ? { ...replicas, value: String(world) } : null;
}
