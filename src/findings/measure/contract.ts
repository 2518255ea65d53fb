/** What two runs must have in common for their figures to mean the same: the view `contract_key` has the keys. */
import type { Measurement } from '../../model/measurement.js';
import type { ContractEntry } from '../../model/results/compare.js';
import type { Store } from '../../store/store.js';

/** Every key that at least one side has; differences first. Any store will do: the query reads none of its tables. */
export async function compareContract(
  store: Store,
  golden: Measurement,
  current: Measurement,
): Promise<ContractEntry[]> {
  const sides = { golden: JSON.stringify(factsOf(golden)), current: JSON.stringify(factsOf(current)) };
  return (await store.all('compare.contract', sides)).map(({ group_name, is_same, is_blocking, ...entry }) => ({
    group: group_name as ContractEntry['group'],
    ...entry,
    same: is_same,
    blocking: is_blocking,
  }));
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

/** Whether ranks and stages of the two mean the same. */
export function sameLayout(contract: readonly ContractEntry[]): boolean {
  return contract.every(({ group, key, same }) => same || (group !== 'layout' && key !== 'world_size'));
}
