/** How fast a run was, in the words of its trainer; and the step time that follows where none is printed. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { DerivedStep, LogRate } from '../../model/results/log.js';
import type { Store } from '../../store/store.js';
import type { EffectiveConfig } from './config.js';

const LEAST_INTERVALS = threshold('pace.least_intervals');

export async function readRates(store: Store, runId: number): Promise<LogRate[]> {
  const rows = await store.all('log.rates', { run_id: runId });
  // A bar counts whatever it was made for; one of several counts the steps, unless the trainer prints a pace itself.
  const own = rows.filter(({ format, name }) => format !== 'progress.tqdm' && !isRepeated(name));
  return own.length > 0 ? own : rows;
}

/** The table at the end of a stage repeats the line before it, with fewer digits. */
const isRepeated = (name: string): boolean => name.startsWith('hf.metrics.');

function positive(config: EffectiveConfig, key: string): number | null {
  const text = config.entry(key)?.value;
  const value = text == null || !/^\d{1,12}$/.test(text) ? 0 : Number(text);
  return value >= 1 ? value : null;
}

/**
 * Only where no line has a step time. From tokens or samples per second where the batch is known, else from the wall
 * clock of the lines.
 *
 * @returns milliseconds, and what they were computed from; null where the text lacks a part
 */
export async function deriveStep(
  store: Store,
  runId: number,
  rates: readonly LogRate[],
  config: EffectiveConfig,
  worldSize: number | null,
): Promise<DerivedStep | null> {
  const batch = positive(config, 'global_batch_size');
  const sequence = positive(config, 'seq_length');
  const find = (pattern: RegExp, format?: string): number | null => {
    const rate = rates.find((one) => pattern.test(one.name) && (format === undefined || one.format === format));
    return rate === undefined || rate.median <= 0 ? null : rate.median;
  };
  // Of one device, counting its share of a sequence or a layer as a part of a token.
  const tokens = find(/^(?:tps|wps)$/, 'torchtitan.step');
  if (tokens !== null && batch !== null && sequence !== null && worldSize !== null)
    return {
      ms: (batch * sequence * 1000) / (tokens * worldSize),
      from: 'tokens per second and device, global batch size, sequence length and world size',
    };
  const [runtime] = await store.all('log.values', { run_id: runId, prefix: 'hf.train_runtime', most: 1 });
  const steps = positive(config, 'train_iters');
  if (runtime?.value != null && runtime.value > 0 && steps !== null)
    return { ms: (runtime.value * 1000) / steps, from: 'train_runtime and the number of steps' };
  const samples = find(/^(?:mllog\.tracked_stats\.throughput|deepspeed\.samples_per_s)$/);
  if (samples !== null && batch !== null)
    return { ms: (batch * 1000) / samples, from: 'samples per second and global batch size' };
  const intervals = await store.one('log.line_intervals', { run_id: runId });
  return intervals?.median_ms == null || intervals.count < LEAST_INTERVALS
    ? null
    : { ms: intervals.median_ms, from: 'the wall clock of the iteration lines' };
}
