/** Facts of a run of the store. */
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import type { Store } from '../../store/store.js';
import { effectiveConfig, readSettings } from '../run/config.js';
import { readEnvironment } from '../run/env.js';
import { readLogFacts } from '../run/log-facts.js';
import type { ExplicitValue, RawFacts } from './facts.js';
import { factsOfConfig, type ReadConfig } from './facts-of-config.js';
import { withTrained } from './facts-of-settings.js';
import { withSizes } from './sizes.js';
import { torchOfMessages } from './versions.js';

export async function factsOfRun(
  store: Store,
  runId: number,
  asked: Partial<Pick<ReadConfig, 'framework' | 'gpu'>> = {},
): Promise<RawFacts> {
  const settings = await readSettings(store, runId);
  const config = effectiveConfig(settings);
  const { variables, captured_ranks: captured } = await readEnvironment(store, runId);
  const { facts, incidents } = await readLogFacts(store, runId);
  const env = new Map<string, ExplicitValue>();
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
  // A log that prints one variable does not imply that others are unset. A profiler records the whole environment of
  // the process it starts.
  const launchers = new Set(
    (await store.all('store.sources', { run_id: runId }))
      .filter(({ format }) => format === 'config')
      .map(({ display_path: path }) => path),
  );
  const scripts = variables.filter(({ file, origin }) => launchers.has(file) || origin === 'nsys capture').length;
  const read = factsOfConfig({
    config,
    env,
    envKnown: captured.length > 0 ? 'whole' : scripts > 0 ? 'partial' : 'none',
    versions: { ...facts.versions, torch: facts.versions.torch ?? torchOfMessages(incidents) },
    gpu: asked.gpu ?? { name: facts.gpu.name, total_bytes: facts.gpu.total_bytes },
    framework: asked.framework,
  });
  const sized = { ...read, settings: withSizes(read.settings, facts) };
  const last = (await store.all('log.iterations', { run_id: runId, newest: 1 })).at(-1);
  return last === undefined ? sized : withTrained(sized, settings, last, new Set(settings.map(({ file }) => file)));
}
