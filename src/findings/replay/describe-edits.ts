/**
 * `whatif --remove` and `--scale`: the same run without some allocations, or with smaller ones, and where its peak is
 * then.
 */

import { OPERATION, type Operations } from '../../allocator/what-if/operations.js';
import { type SimulationResult, simulate } from '../../allocator/what-if/simulate.js';
import { outcomeOf } from '../../allocator/what-if/sweep.js';
import type { ReplayedDevice } from '../../derive/replay/ask.js';
import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { MbfError } from '../../model/errors.js';
import type { WhatIfPeak, WhatIfResult, WhatIfSite } from '../../model/results/replay.js';
import type { Store } from '../../store/store.js';
import { type AllocationSites, readAllocationSites } from './allocation-sites.js';

/** All allocations whose call site contains `site`, times `scale`; 0 = they are never made. */
export interface SiteEdit {
  readonly site: string;
  readonly scale: number;
}

/** Sites shown of each peak. */
const SHOWN_SITES = 5;

/** Throws MBF1002 where no call site matches. */
export async function describeEdits(
  store: Store,
  chosen: ChosenDevice,
  { stored, base, capacity }: ReplayedDevice,
  edits: readonly SiteEdit[],
): Promise<NonNullable<WhatIfResult['edit']>> {
  const { recording } = stored;
  const sites = await readAllocationSites(store, recording);
  const scales = new Float32Array(recording.allocations).fill(1);
  const described = edits.map(({ site, scale }) => {
    let allocations = 0;
    let bytes = 0;
    for (let id = 0; id < recording.allocations; id += 1) {
      if (!sites.site(id).includes(site)) continue;
      scales[id] = scale;
      allocations += 1;
      bytes += sites.bytes[id]!;
    }
    if (allocations === 0) {
      const what = `${JSON.stringify(site)} is part of no call site of ${chosen.handle} device ${chosen.device}`;
      throw new MbfError('MBF1002', `${what}; \`mbforensics peak\` lists them`);
    }
    return { site, scale, allocations, bytes };
  });
  // A block from before the recording cannot be made smaller in place.
  const shrinksStart = scales.subarray(0, recording.start.blocks.count).some((scale) => scale > 0 && scale !== 1);
  const bytesOf = (id: number, bytes: number): number => Math.ceil(bytes * scales[id]!);
  const run = (changed: boolean): SimulationResult =>
    simulate(recording, base.operations, {
      settings: recording.settings,
      variant: base.variant,
      budgetBytes: capacity.budgetBytes,
      takenByOthersBytes: capacity.takenByOthersBytes,
      ...(capacity.allowedBytes === null ? {} : { allowedBytes: capacity.allowedBytes }),
      start: shrinksStart ? 'packed' : 'recorded',
      direction: 'ascending',
      ...(changed ? { edits: { bytesOf } } : {}),
    });
  const peak = (changed: boolean): WhatIfPeak => {
    const result = run(changed);
    return {
      active_bytes: result.peakActiveBytes,
      reserved_bytes: result.peakReservedBytes,
      seq: result.peakActiveSeq,
      outcome: outcomeOf(base, result),
      sites: liveSites(
        base.operations,
        sites,
        recording.start.blocks.count,
        result.peakActiveSeq,
        changed ? bytesOf : null,
      ),
    };
  };
  return { edits: described, before: peak(false), after: peak(true) };
}

/** Requested bytes live after entry `seq`, by call site. */
function liveSites(
  operations: Operations,
  sites: AllocationSites,
  startBlocks: number,
  seq: number,
  bytesOf: ((id: number, bytes: number) => number) | null,
): WhatIfSite[] {
  const live = new Set<number>();
  for (let id = 0; id < startBlocks; id += 1) live.add(id);
  for (let i = 0; i < operations.count && operations.seq[i]! <= seq; i += 1) {
    const id = operations.allocation[i]!;
    if (operations.kind[i] === OPERATION.alloc) live.add(id);
    else if (operations.kind[i] === OPERATION.free || operations.kind[i] === OPERATION.completeFree) live.delete(id);
  }
  const bySite = new Map<string, { site: string; bytes: number; count: number }>();
  for (const id of live) {
    const bytes = bytesOf === null ? sites.bytes[id]! : bytesOf(id, sites.bytes[id]!);
    if (bytes === 0) continue;
    const site = sites.site(id);
    const known = bySite.get(site);
    if (known === undefined) bySite.set(site, { site, bytes, count: 1 });
    else {
      known.bytes += bytes;
      known.count += 1;
    }
  }
  return [...bySite.values()].sort((a, b) => b.bytes - a.bytes || (a.site < b.site ? -1 : 1)).slice(0, SHOWN_SITES);
}
