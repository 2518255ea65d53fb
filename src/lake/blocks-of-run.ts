/** The blocks that a run has in a lake, by their rows of `run_summary`. */
import { join } from 'node:path';
import { MbfError } from '../model/errors.js';
import { quotedText } from '../store/schema.js';
import type { Store } from '../store/store.js';
import type { Block } from './block.js';
import { listParts, type Part, removeParts, tableNames } from './lake-files.js';
import { RUN_SUMMARY } from './lake-tables.js';

export interface BlockRow {
  readonly run: string;
  /** `rank_block` of the folder that has the row: another number than the block's own after `lake compact`. */
  readonly folder: number;
  readonly block: number;
  readonly blocks: number;
  readonly is_local: boolean;
  readonly ranks: number;
  readonly started_us: number | null;
}

/** Rows of these parts of `run_summary`. `store` may read files of the lake. */
export async function blockRows(store: Store, lake: string, parts: readonly Part[]): Promise<readonly BlockRow[]> {
  if (parts.length === 0) return [];
  const places = new Map(parts.map((part) => [join(lake, part.path), part]));
  const files = [...places.keys()].map(quotedText).join(', ');
  const rows = await store.select(
    `SELECT filename, task AS block, blocks, is_local, ranks, started_us
     FROM read_parquet([${files}], hive_partitioning = false, filename = true) ORDER BY filename, task`,
  );
  return rows.map(({ filename, ...row }) => {
    const { run, block: folder } = places.get(String(filename))!;
    return { run, folder, ...(row as unknown as Omit<BlockRow, 'run' | 'folder'>) };
  });
}

interface Adding {
  readonly lake: string;
  readonly run: string;
  readonly block: Block;
  readonly replace: boolean;
  readonly touch: () => void;
}

/**
 * Blocks of another number of blocks have ranks of this one too, and those that `lake compact` put together cannot be
 * replaced one by one: with `replace` these are removed, else MBF1015. Under the lock of the run.
 */
export async function removeOthers(store: Store, { lake, run, block, replace, touch }: Adding): Promise<void> {
  const parts = listParts(lake, tableNames(), run);
  const summaries = parts.filter(({ table }) => table === RUN_SUMMARY);
  const rows = await blockRows(store, lake, summaries);
  const { of, isLocal } = block;
  const isMerged = rows.some((row) => row.folder !== row.block);
  const isOther = rows.filter((row) => row.blocks !== of || row.is_local !== isLocal);
  const folders = new Set(isOther.map(({ folder }) => folder));
  const conflicting = parts.filter((part) => isMerged || folders.has(part.block) || part.block >= of);
  if (conflicting.length === 0) return;
  if (!replace) {
    const [other] = isOther;
    const shape = (blocks: number, local: boolean): string => `${blocks} blocks${local ? ' of local files' : ''}`;
    const what =
      other !== undefined
        ? `was added in ${shape(other.blocks, other.is_local)}, and this is one of ${shape(of, isLocal)}`
        : isMerged
          ? 'was put together by `lake compact`'
          : `has a block ${conflicting.at(-1)!.block} that is not whole, and this is one of ${shape(of, isLocal)}`;
    throw new MbfError('MBF1015', `the run ${run} ${what}`, { file: lake });
  }
  // Without these rows no block is whole.
  for (const isSummary of [true, false])
    for (const part of conflicting)
      if ((part.table === RUN_SUMMARY) === isSummary) {
        touch();
        removeParts(lake, [part.path]);
      }
}
