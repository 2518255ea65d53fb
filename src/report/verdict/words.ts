/** What sentences are made of: the figures of a statement, by name. */

import type { Figures, Item } from '../../model/statement.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { plain } from '../text-pieces.js';

export interface View {
  readonly items: readonly Item[];
  has(name: string): boolean;
  /** These throw for a number or a name that the statement lacks. */
  number(name: string): number;
  bytes(name: string): string;
  count(name: string): string;
  name(name: string): string;
}

/** The sentence of a statement. */
export type Words = (view: View) => string;

export function viewOf({ numbers, names, items = [] }: Figures): View {
  const view: View = {
    items,
    has: (name) => name in numbers || name in names,
    number: (name) => demand(numbers[name], name),
    bytes: (name) => formatBytes(view.number(name)),
    count: (name) => formatCount(view.number(name)),
    name: (name) => demand(names[name], name),
  };
  return view;
}

function demand<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new Error(`a statement has no ${name}`);
  return value;
}

/** Throws for a code without words: the tables and the views of the store change together. */
export function wordsOf<Entry>(table: Readonly<Record<string, Entry>>, code: string): Entry {
  const entry = table[code];
  if (entry === undefined) throw new Error(`no words for ${code}`);
  return entry;
}

/** Parts of a device (`oom_part`). */
export const PART_WORDS: Readonly<Record<string, string>> = {
  live: 'live',
  cached: 'cached in pieces',
  pending_free: 'freed and pending',
  private_pools_free: 'free in private pools',
  device_free: 'free on the device',
  not_allowed: 'free on the device above the limit',
  outside_pytorch: 'outside PyTorch beyond what is normal',
  sibling_processes: 'of other ranks on this device',
  other_processes: 'of other processes',
};

/** A cause, or the detail of one: `not an OOM`, `host OOM`, `external pressure`, `NCCL`. */
export const causeName = (code: string): string => CAUSE_NAMES[code] ?? plain(code);

const CAUSE_NAMES: Readonly<Record<string, string>> = {
  not_oom: 'not an OOM',
  host_oom: 'host OOM',
  graph_pools: 'CUDA graph pools',
  nccl: 'NCCL',
  non_torch: 'outside PyTorch',
  kv_cache_budget: 'KV cache budget',
};

/** The request as the message prints it; of a snapshot, its rounded size. */
export const requestOf = (v: View): string =>
  v.bytes(v.has('printed_request_bytes') ? 'printed_request_bytes' : 'request_bytes');

/** What is missing; of a message the least, since it prints the segment that was requested. */
export const shortOf = (v: View): string =>
  `${v.has('printed_request_bytes') ? 'at least ' : ''}${v.bytes('short_bytes')}`;

export const times = (count: number): string => (count === 1 ? 'once' : `${formatCount(count)} times`);

/** `NCCL 3.12 GiB, cuBLAS workspaces 32.00 MiB and 2 more`. */
export function listed(items: readonly Item[], word: (item: Item) => string, most = items.length): string {
  const more = items.length - most;
  return `${items.slice(0, most).map(word).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A process of a device; at most so many are listed. */
export const processWords = ({ name, numbers }: Item): string =>
  `pid ${numbers['pid'] ?? 'unknown'}${name === null ? '' : ` (${name})`}`;

/** What a failing stack was doing: `src/knowledge/activities.yaml`. */
export const SITE_WORDS: Readonly<Record<string, string>> = {
  engine_wakeup: 'the inference engine was waking up',
  evaluation: 'evaluating',
  checkpoint_save: 'saving a checkpoint',
  checkpoint_load: 'loading a checkpoint',
  optimizer_init: 'creating optimizer states',
  logits_loss: 'computing logits, loss or log-probabilities',
  gradient_buffers: 'creating gradient buffers',
  weight_loading: 'loading weights',
  model_construction: 'creating the weights of the model',
  optimizer_step: 'running the optimizer step',
  recompute: 'recomputing activations in the backward pass',
  collectives: 'running a collective',
  moe_dispatch: 'running experts or their dispatch',
  attention: 'computing attention',
  mlp: 'computing an MLP',
  data_loading: 'moving input to the device',
  backward: 'running the backward pass',
};

/** What a rank did when it failed. */
export const ACTIVITY_WORDS: Readonly<Record<string, string>> = {
  checkpoint_save: 'saving a checkpoint',
  checkpoint_load: 'loading a checkpoint',
};

/** `rank 6 of 8 listed (host node12, pid 92121)`; `local rank 6`, `the process` where that is all. */
export function endedProcessWords(v: View): string {
  const ranks = v.has('ranks') ? ` of ${v.count('ranks')}${v.has('listed') ? ' listed' : ''}` : '';
  const who = v.has('rank')
    ? `rank ${v.number('rank')}${ranks}`
    : v.has('local_rank')
      ? `local rank ${v.number('local_rank')}`
      : `${v.has('pid') ? 'the' : 'a'} process`;
  const where = [
    ...(v.has('host') ? [`host ${v.name('host')}`] : []),
    ...(v.has('pid') ? [`pid ${v.number('pid')}`] : []),
  ];
  return where.length === 0 ? who : `${who} (${where.join(', ')})`;
}
