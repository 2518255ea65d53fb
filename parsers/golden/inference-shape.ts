import type { MegatronInferenceValues } from '../../src/model/golden-values.js';
import { isList, isObject, type JsonObject, type JsonValue, kindOf } from './python-json.js';
import type { Refuse } from './refuse.js';

/** Keys at the level of the requests; objects among their values are not requests. */
const NON_REQUEST_KEYS: ReadonlySet<string> = new Set([
  'throughput',
  'mem-max-allocated-bytes',
  'lifetime_prefill_token_count',
  'async_sched_step_count',
  'async_sched_compaction_step_count',
  'prefix_cache_observations',
  'prefix_cache_comparison',
  'memory_phases',
]);

const OF_A_REQUEST = [
  'generated_tokens',
  'generated_text',
  'generated_logprobs',
  'input_prompt',
  'prompt_tokens',
  'logprobs',
  'routing_indices',
];

export function isInference(top: JsonObject): boolean {
  if (top.has('throughput') || top.has('mem-max-allocated-bytes')) return true;
  for (const request of top.values()) {
    if (isObject(request) && OF_A_REQUEST.some((key) => request.has(key))) return true;
  }
  return false;
}

export function inferenceValues(top: JsonObject, refuse: Refuse): MegatronInferenceValues {
  let requests = 0;
  for (const [key, value] of top) if (isObject(value) && !NON_REQUEST_KEYS.has(key)) requests += 1;
  const memory = numbers(top.get('mem-max-allocated-bytes'), 'mem-max-allocated-bytes', refuse);
  return {
    kind: 'megatron_inference',
    requests,
    throughput: numbers(top.get('throughput'), 'throughput', refuse),
    mem_max_allocated_bytes: memory.length === 0 ? null : medianAfterWarmUp(memory),
  };
}

function numbers(value: JsonValue | undefined, name: string, refuse: Refuse): readonly number[] {
  if (value === undefined || value === null) return [];
  return (isList(value) ? value : [value]).map((item) =>
    typeof item === 'number' ? item : refuse(`has ${kindOf(item)} as ${name}`),
  );
}

/** Upstream takes the first of several values for warm-up. */
function medianAfterWarmUp(values: readonly number[]): number {
  const sorted = (values.length > 1 ? values.slice(1) : [...values]).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
