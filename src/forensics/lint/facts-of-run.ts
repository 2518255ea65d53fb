/** Facts of a run of the store. */
import { ALLOCATOR_VARIABLES } from '../../model/env-keys.js';
import type { RunFacts } from '../../model/log-results.js';
import type { Store } from '../../store/store.js';
import { effectiveConfig, readSettings } from '../log/config.js';
import { readEnvironment } from '../log/env.js';
import { readLogFacts } from '../log/log-facts.js';
import type { RawFacts, Told } from './facts.js';
import { factsOfConfig, type ReadConfig } from './facts-of-config.js';

export async function factsOfRun(
  store: Store,
  runId: number,
  asked: Partial<Pick<ReadConfig, 'framework' | 'gpu'>> = {},
): Promise<RawFacts> {
  const config = effectiveConfig(await readSettings(store, runId));
  const { variables, captured_ranks: captured } = await readEnvironment(store, runId);
  const { facts } = await readLogFacts(store, runId);
  const env = new Map<string, Told>();
  for (const { key, value, origin, file, line } of variables) env.set(key, { value, raw_key: key, origin, file, line });
  // What the allocator itself recorded goes before what a script meant to set.
  for (const { key, value } of await store.all('log.snapshot_settings', { run_id: runId }))
    if (ALLOCATOR_VARIABLES.includes(key))
      env.set(key, {
        value: value === '' ? null : value,
        raw_key: key,
        origin: 'memory snapshot',
        file: env.get(key)?.file ?? '',
        line: env.get(key)?.line ?? 0,
      });
  const read = factsOfConfig({
    config,
    env,
    envKnown: captured.length > 0 ? 'whole' : env.size > 0 ? 'partial' : 'none',
    versions: facts.versions,
    gpu: asked.gpu ?? { name: facts.gpu.name, total_bytes: facts.gpu.total_bytes },
    framework: asked.framework,
  });
  return { ...read, settings: withSizes(read.settings, facts) };
}

const SIZES: readonly (readonly [key: string, of: (facts: RunFacts) => number | null, origin: string])[] = [
  ['world_size', (facts) => facts.world_size, 'world_size'],
  ['tensor_model_parallel_size', ({ parallel }) => parallel.tp, 'parallel.tp'],
  ['pipeline_model_parallel_size', ({ parallel }) => parallel.pp, 'parallel.pp'],
  ['context_parallel_size', ({ parallel }) => parallel.cp, 'parallel.cp'],
  ['expert_model_parallel_size', ({ parallel }) => parallel.ep, 'parallel.ep'],
  ['data_parallel_size', ({ parallel }) => parallel.dp, 'parallel.dp'],
];

/** Sizes that no setting tells and the run shows in another way: a launcher's variables, a banner, the others multiplied. */
function withSizes(settings: RawFacts['settings'], facts: RunFacts): RawFacts['settings'] {
  const result = new Map(settings);
  for (const [key, of, name] of SIZES) {
    const value = of(facts);
    if (value === null || settings.get(key)?.value != null) continue;
    const origin = facts.origins[name] ?? 'the run';
    result.set(key, { value: String(value), raw_key: key, origin, file: '', line: 0 });
  }
  return result;
}
