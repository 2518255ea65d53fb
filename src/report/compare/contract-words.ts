/** What two runs have in common and what not: whether their figures may be compared at all. */
import type { ContractEntry } from '../../model/results/compare.js';
import { formatBytes } from '../../model/units.js';
import { shortText, UNKNOWN } from '../text-pieces.js';
import { shortCommit } from './check-words.js';

const GROUPS: readonly ContractEntry['group'][] = ['model', 'workload', 'layout', 'device', 'precision', 'revision'];

export interface ContractWords {
  /** Blocking ones first. */
  readonly different: readonly ContractEntry[];
  /** Groups whose values known on both sides are all equal. */
  readonly same: readonly ContractEntry['group'][];
  /** Groups without a value known on both sides. */
  readonly not_compared: readonly ContractEntry['group'][];
}

export function contractWords(contract: readonly ContractEntry[]): ContractWords {
  const different = contract.filter(({ same }) => !same);
  const compared = contract.filter(({ golden, current, same }) => !same || (golden !== null && current !== null));
  const comparedGroups = new Set(compared.map(({ group }) => group));
  const differing = new Set(different.map(({ group }) => group));
  return {
    different: [...different.filter(({ blocking }) => blocking), ...different.filter(({ blocking }) => !blocking)],
    same: GROUPS.filter((group) => comparedGroups.has(group) && !differing.has(group)),
    not_compared: GROUPS.filter((group) => !comparedGroups.has(group)),
  };
}

/** Hashes short, sizes in binary units. */
export function contractValue({ group, key }: ContractEntry, value: string | null): string {
  if (value === null) return UNKNOWN;
  if (key.endsWith('_bytes') && /^\d{1,15}$/.test(value)) return formatBytes(Number(value));
  return group === 'revision' ? shortCommit(value) : value;
}

/** Why nothing was judged, and the way around it where there is one; null where something was judged. */
export function refusalWords(
  refused: string | null,
  contract: readonly ContractEntry[],
): { readonly reason: string; readonly remedy: string } | null {
  if (refused === null) return null;
  const remedy = contract.some(({ blocking }) => blocking) && !refused.includes('--force');
  return {
    reason: shortText(refused, 600),
    remedy: remedy ? 'no figure was judged; --force compares them nevertheless' : 'no figure was judged',
  };
}
