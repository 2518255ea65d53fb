/** What two runs must have in common for their figures to mean the same: the view `contract_key` has the keys. */
import { canonicalConfigKey, isKnownConfigKey } from '../../knowledge/config-keys.js';
import { MbfError } from '../../model/errors.js';
import type { Measurement } from '../../model/measurement.js';
import type { ContractEntry } from '../../model/results/compare.js';
import type { Store } from '../../store/store.js';
import { KNOB_EFFECTS } from '../settings/knob-effects.js';

/** Keys or groups of the contract that may differ. */
export type AllowedChanges = readonly string[];

/** Of runs of one training that was tuned: its layout and its micro-batch are what tuning changes. */
export const TUNING: AllowedChanges = ['layout', 'micro_batch_size'];

/**
 * Every key that at least one side has; differences first. Any store will do: the query reads none of its tables. A
 * difference of a key in `allowed` does not block.
 */
export async function compareContract(
  store: Store,
  golden: Measurement,
  current: Measurement,
  allowed: AllowedChanges = [],
): Promise<ContractEntry[]> {
  // How many replicas there are follows from the others.
  const known = allowed.some((key) => REPLICAS_FOLLOW.includes(key)) ? [...allowed, 'dp'] : allowed;
  const sides = { golden: JSON.stringify(factsOf(golden)), current: JSON.stringify(factsOf(current)) };
  return (await store.all('compare.contract', sides)).map(({ group_name, is_same, is_blocking, ...entry }) => ({
    group: group_name as ContractEntry['group'],
    ...entry,
    same: is_same,
    blocking: is_blocking && !known.includes(entry.key) && !known.includes(group_name),
  }));
}

const REPLICAS_FOLLOW: AllowedChanges = ['device', 'world_size', 'tp', 'pp', 'cp'];

const GROUPS: readonly ContractEntry['group'][] = ['model', 'workload', 'precision', 'device', 'layout'];
/** Keys of the contract that are facts of a run, with the setting they follow. */
const FACTS: ReadonlyMap<string, string | null> = new Map([
  ['world_size', null],
  ['gpu', null],
  ['gpu_total_bytes', null],
  ['tp', 'tensor_model_parallel_size'],
  ['pp', 'pipeline_model_parallel_size'],
  ['vpp', 'virtual_pipeline_model_parallel_size'],
  ['cp', 'context_parallel_size'],
  ['ep', 'expert_model_parallel_size'],
  ['etp', 'expert_tensor_parallel_size'],
  ['dp', 'data_parallel_size'],
]);

/** `--allow-change seq_length,layout`. Throws MBF1001 for an unknown key: a misspelt one would allow nothing. */
export function parseAllowedChanges(text: string | undefined): AllowedChanges {
  const keys = text === undefined ? [] : text.split(',').map((part) => part.trim());
  return keys.map((key) => {
    if (GROUPS.some((group) => group === key) || FACTS.has(key)) return key;
    const canonical = canonicalConfigKey(key);
    const fact = [...FACTS].find(([, setting]) => setting === canonical)?.[0];
    if (fact !== undefined) return fact;
    if (isKnownConfigKey(key) || KNOB_EFFECTS.has(canonical)) return canonical;
    throw new MbfError(
      'MBF1001',
      `--allow-change ${JSON.stringify(key)} is not a known setting; name one such as seq_length, or a group: ${GROUPS.join(', ')}`,
    );
  });
}

function factsOf({ config, world_size, gpu, parallel, versions, commit, commits }: Measurement) {
  const shas = Object.entries(commit === null ? commits : { ...commits, run: commit });
  return {
    config,
    device: { world_size, gpu: gpu.name, gpu_total_bytes: gpu.total_bytes },
    layout: parallel,
    revision: { ...versions, ...Object.fromEntries(shas.map(([of, sha]) => [`commit ${of}`, sha])) },
  };
}

/** Settings that the layout and the contract already have. */
export function isOfContract(contract: readonly ContractEntry[], key: string): boolean {
  return contract.some((entry) => entry.key === key || FACTS.get(entry.key) === key);
}

/** Whether ranks and stages of the two mean the same. */
export function sameLayout(contract: readonly ContractEntry[]): boolean {
  return contract.every(({ group, key, same }) => same || (group !== 'layout' && key !== 'world_size'));
}

/** Whether a setting or fact is known of both runs: without any, nothing shows that they belong together. */
export function hasCommonGround(contract: readonly ContractEntry[]): boolean {
  return contract.some(({ group, golden, current }) => group !== 'revision' && golden !== null && current !== null);
}
