/**
 * What two runs must have in common for their figures to mean the same. Differences of the model, its input, its
 * precision or its device are refused unless forced; a different parallel layout or revision is what is often compared,
 * and is shown.
 */

import type { Measurement } from '../../model/measurement.js';
import type { ContractEntry } from '../../model/results/compare.js';

type Group = ContractEntry['group'];

const MODEL_KEYS = [
  'num_layers',
  'hidden_size',
  'ffn_hidden_size',
  'num_attention_heads',
  'num_query_groups',
  'kv_channels',
  'vocab_size',
  'padded_vocab_size',
  'num_moe_experts',
  'moe_router_topk',
  'moe_ffn_hidden_size',
  'mtp_num_layers',
  'share_embeddings_and_output_weights',
];
const WORKLOAD_KEYS = ['seq_length', 'global_batch_size', 'micro_batch_size'];
const PRECISION_KEYS = [
  'bf16',
  'fp16',
  'fp8',
  'fp8_recipe',
  'fp8_param',
  'fp8_param_gather',
  'mixed_precision',
  'params_dtype',
];
const LAYOUT_KEYS = ['tp', 'pp', 'vpp', 'cp', 'ep', 'etp', 'dp'] as const;

/** A different micro-batch is a way of tuning the same training; a different sequence or batch is another training. */
const TUNED: ReadonlySet<string> = new Set(['micro_batch_size']);

/** Totals of one kind of device differ by some tens of MiB between drivers. */
const SAME_DEVICE = 0.02;

/**
 * Every key that at least one side has; differences first. A key that a side lacks is not compared: its value there is
 * unknown.
 */
export function compareContract(golden: Measurement, current: Measurement): ContractEntry[] {
  const entries: ContractEntry[] = [];
  const add = (
    group: Group,
    key: string,
    a: string | null,
    b: string | null,
    blocking: boolean,
    same = a === b,
  ): void => {
    if (a === null && b === null) return;
    const known = a !== null && b !== null;
    entries.push({ group, key, golden: a, current: b, same: !known || same, blocking: blocking && known && !same });
  };
  const setting = (side: Measurement, key: string): string | null => side.config[key] ?? null;
  for (const key of MODEL_KEYS) add('model', key, setting(golden, key), setting(current, key), true);
  for (const key of WORKLOAD_KEYS) add('workload', key, setting(golden, key), setting(current, key), !TUNED.has(key));
  for (const key of PRECISION_KEYS) add('precision', key, setting(golden, key), setting(current, key), true);
  add('device', 'world_size', text(golden.world_size), text(current.world_size), true);
  add('device', 'gpu', golden.gpu.name, current.gpu.name, true);
  const [a, b] = [golden.gpu.total_bytes, current.gpu.total_bytes];
  if (a !== null && b !== null)
    add('device', 'gpu_total_bytes', text(a), text(b), true, Math.abs(a - b) <= SAME_DEVICE * a);
  for (const key of LAYOUT_KEYS) add('layout', key, text(golden.parallel[key]), text(current.parallel[key]), false);
  for (const key of union(golden.versions, current.versions))
    add('revision', key, golden.versions[key] ?? null, current.versions[key] ?? null, false);
  for (const key of union(commitsOf(golden), commitsOf(current)))
    add('revision', `commit ${key}`, commitsOf(golden)[key] ?? null, commitsOf(current)[key] ?? null, false);
  return [...entries.filter(({ same }) => !same), ...entries.filter(({ same }) => same)];
}

function commitsOf(side: Measurement): Readonly<Record<string, string>> {
  return side.commit === null ? side.commits : { ...side.commits, run: side.commit };
}

const text = (value: number | null): string | null => (value === null ? null : String(value));

function union(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
}

/** Whether ranks and stages of the two mean the same. */
export function sameLayout(contract: readonly ContractEntry[]): boolean {
  return (
    contract.every(({ group, same }) => group !== 'layout' || same) &&
    contract.every(({ key, same }) => key !== 'world_size' || same)
  );
}
