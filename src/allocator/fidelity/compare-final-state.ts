/** Whether a replay ends where the dump does: the same segments, and in them the same blocks, free ones included. */
import type { SegmentSnapshot } from '../caching/allocator-snapshot.js';

/** The dumped state of one device, all blocks, both lists in ascending order of address. */
export interface DumpedState {
  readonly segments: { readonly count: number; readonly address: Float64Array; readonly totalBytes: Float64Array };
  readonly blocks: {
    readonly count: number;
    readonly address: Float64Array;
    readonly sizeBytes: Float64Array;
    /** Index in ENUMS.block_state. */
    readonly state: Uint8Array;
  };
}

export interface FinalDifference {
  readonly what: 'segment' | 'block';
  /** Of the dump and of the replay; null: there is none. */
  readonly dumped: { readonly address: number; readonly bytes: number; readonly state: number | null } | null;
  readonly replayed: { readonly address: number; readonly bytes: number; readonly state: number | null } | null;
}

const STATES = { active_allocated: 0, active_pending_free: 1, inactive: 2 } as const;

/**
 * The first difference in order of address; null if there is none. Adjacent runs of expandable segments are one,
 * however they are listed.
 */
export function finalDifference(
  replayed: readonly SegmentSnapshot<unknown>[],
  dump: DumpedState,
): FinalDifference | null {
  const { segments, blocks } = dump;
  const count = Math.max(segments.count, replayed.length);
  for (let i = 0; i < count; i += 1) {
    const replayedSegment = replayed[i];
    if (
      i < segments.count &&
      replayedSegment?.addr === segments.address[i] &&
      replayedSegment?.totalBytes === segments.totalBytes[i]
    )
      continue;
    return {
      what: 'segment',
      dumped:
        i < segments.count ? { address: segments.address[i]!, bytes: segments.totalBytes[i]!, state: null } : null,
      replayed:
        replayedSegment === undefined
          ? null
          : { address: replayedSegment.addr, bytes: replayedSegment.totalBytes, state: null },
    };
  }
  let row = 0;
  for (const segment of replayed) {
    for (const block of segment.blocks) {
      const state = STATES[block.state];
      const isSame =
        row < blocks.count &&
        blocks.address[row] === block.addr &&
        blocks.sizeBytes[row] === block.sizeBytes &&
        blocks.state[row] === state;
      if (!isSame) {
        return {
          what: 'block',
          dumped:
            row < blocks.count
              ? { address: blocks.address[row]!, bytes: blocks.sizeBytes[row]!, state: blocks.state[row]! }
              : null,
          replayed: { address: block.addr, bytes: block.sizeBytes, state },
        };
      }
      row += 1;
    }
  }
  if (row === blocks.count) return null;
  return {
    what: 'block',
    dumped: { address: blocks.address[row]!, bytes: blocks.sizeBytes[row]!, state: blocks.state[row]! },
    replayed: null,
  };
}
