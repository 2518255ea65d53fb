/**
 * `whatif --free-early`: which live blocks, freed before the failed request, would have let it through; checked by
 * replaying it.
 */

import { roundSize } from '../../allocator/rounding.js';
import { OOM } from '../../allocator/trace-action-codes.js';
import { cheapestWindows } from '../../allocator/what-if/early-frees.js';
import { simulate } from '../../allocator/what-if/simulate.js';
import { outcomeOf } from '../../allocator/what-if/sweep.js';
import type { ReplayedDevice } from '../../derive/replay/ask.js';
import { readStacks, siteOf } from '../../derive/stacks/read-stacks.js';
import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { stateAt } from '../../derive/trace/state-at.js';
import { MbfError } from '../../model/errors.js';
import type { EarlyFree } from '../../model/results/replay.js';
import type { Store } from '../../store/store.js';
import { hex } from '../state/state-view.js';

const SHOWN = 5;

/** Throws MBF1002 without an OOM in the trace. */
export async function describeEarlyFrees(
  store: Store,
  chosen: ChosenDevice,
  { stored, base, capacity }: ReplayedDevice,
): Promise<EarlyFree[]> {
  const { recording } = stored;
  const { events, poolOf, start } = recording;
  const row = events.action.lastIndexOf(OOM, events.count - 1);
  if (row < 0)
    throw new MbfError('MBF1002', `${chosen.handle} device ${chosen.device} has no OOM: --free-early needs one`);
  const { state } = await stateAt(store, chosen.snapshotId, chosen.device, { kind: 'oom' });
  const rounded = roundSize(events.sizeBytes[row]!, recording.settings);
  const pool = poolOf.get(events.seq[row]!) ?? 0;
  const stream = Number.isNaN(events.stream[row]!) ? null : events.stream[row]!;
  const windows = cheapestWindows(state, { roundedBytes: rounded, stream, pool }, SHOWN);
  const { blocks } = state;
  const stacks = await readStacks(
    store,
    windows.flatMap((window) => window.rows.map((one) => blocks.stackId[one]!)),
  );
  const startRows = new Map(Array.from(start.blocks.address, (address, i) => [address, i] as const));
  const idOf = (one: number): number => {
    const seq = blocks.allocSeq[one]!;
    // Entries are numbered from the first on, as rows are.
    if (seq >= 0) return recording.allocation[seq - (events.seq[0] ?? 0)]!;
    return startRows.get(blocks.address[one]!) ?? -1;
  };
  return windows.map((window) => {
    const freedBeforeOom = new Set(window.rows.map(idOf).filter((id) => id >= 0));
    const result = simulate(recording, base.operations, {
      settings: recording.settings,
      variant: base.variant,
      budgetBytes: capacity.budgetBytes,
      takenByOthersBytes: capacity.takenByOthersBytes,
      ...(capacity.allowedBytes === null ? {} : { allowedBytes: capacity.allowedBytes }),
      start: 'recorded',
      direction: 'ascending',
      edits: { freedBeforeOom },
    });
    const outcome = outcomeOf(base, result);
    return {
      blocks: window.rows.map((one) => ({
        address: hex(blocks.address[one]!),
        bytes: blocks.sizeBytes[one]!,
        alloc_seq: blocks.allocSeq[one]! < 0 ? null : blocks.allocSeq[one]!,
        site: siteOf(blocks.stackId[one]!, stacks),
      })),
      bytes: window.bytes,
      opens_bytes: window.opensBytes,
      verified: outcome === 'fits' || outcome === 'later_oom',
    };
  });
}
