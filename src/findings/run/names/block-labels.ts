/**
 * memory_viz's names of blocks, so that a user finds the same block in both tools. Upstream: torch
 * `torch/utils/viz/MemoryViz.js`, `formatAddr`.
 */
import { groupBy } from '../../../model/group-by.js';
import type { Store } from '../../../store/store.js';

export interface LabelledBlock {
  readonly address: number;
  /** −1 or null: allocated before the trace. */
  readonly allocSeq: number | null;
}

/** `b7f3a00000000_2`: the address, and how often it was freed before; in the order of `blocks`. */
export async function blockLabels(
  store: Store,
  snapshotId: number,
  blocks: readonly LabelledBlock[],
): Promise<string[]> {
  if (blocks.length === 0) return [];
  const addresses = [...new Set(blocks.map((block) => block.address))].join(',');
  const rows = await store.all('history.frees_at', { snapshot_id: snapshotId, addresses });
  const frees = groupBy(rows, ({ addr }) => Number(addr));
  return blocks.map(({ address, allocSeq }) => {
    const before = (frees.get(address) ?? []).filter(({ seq }) => seq < (allocSeq ?? -1)).length;
    return `b${address.toString(16)}_${before}`;
  });
}

const LABEL = /^b?(?:0x)?([0-9a-f]{1,14})(?:_(\d{1,9}))?$/i;

/** `b7f3a00000000_2`, `7f3a00000000` or `0x7f3a00000000`; undefined if it is none. */
export function parseBlock(text: string): { readonly address: number; readonly version: number | null } | undefined {
  const match = LABEL.exec(text);
  const address = Number.parseInt(match?.[1] ?? '', 16);
  if (match === null || !Number.isSafeInteger(address)) return undefined;
  return { address, version: match[2] === undefined ? null : Number(match[2]) };
}
