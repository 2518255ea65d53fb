/** The part of `diff` about snapshots: which pairs are compared, at which moments, and what changed between them. */

import type { Moment } from '../../derive/trace/moment.js';
import { MbfError } from '../../model/errors.js';
import type { DiffTotals, SnapshotDiff } from '../../model/results/diff.js';
import { chooseDevices, choosePairs, commonStep, type SnapshotPair } from '../diff/choose-pair.js';
import { type DiffLimits, describeDiff, totalsOf } from '../diff/describe-diff.js';
import { grownSites } from '../diff/grown-sites.js';
import { type Candidate, readSide, readTotals, type Side, wholeSteps } from '../diff/side.js';
import { useSides } from '../diff/use-sides.js';
import type { TwoRuns } from './run-diff.js';
import type { Grown } from './suspects-between.js';

export interface DiffQuestion {
  readonly limits: DiffLimits;
  readonly moments: readonly [Moment, Moment];
  readonly rank: number | undefined;
  readonly device: number | undefined;
  /** The last profiler step that both have whole, in the place of `moments`. */
  readonly matchStep: boolean;
  readonly allRanks: boolean;
  /** The earliest PyTorch that writes all of these features into a snapshot. */
  readonly earliestTorch: (features: readonly string[]) => string | undefined;
}

export async function diffSnapshots(
  targets: TwoRuns,
  operands: readonly [string, string],
  candidates: readonly [{ readonly found: readonly Candidate[] }, { readonly found: readonly Candidate[] }],
  { limits, moments, rank, device, matchStep, allRanks, earliestTorch }: DiffQuestion,
): Promise<{ readonly snapshots: SnapshotDiff; readonly grown: Grown }> {
  const pairs = await targets.use(1, ({ store }) => choosePairs(store, candidates[0].found, candidates[1].found, rank));
  const pair = pairs[0]!;
  const at = matchStep ? await sameStep(targets, pair) : moments;
  const [chosen, ...otherDevices] = chooseDevices(pair, device);
  const read = (side: 0 | 1, key: 'a' | 'b'): Promise<Side> =>
    targets.use(side, ({ store }) => readSide(store, operands[side], pair[key], chosen![key], at[side], earliestTorch));
  const [a, b] = [await read(0, 'a'), await read(1, 'b')];
  const devices: DiffTotals[] = [];
  for (const entry of otherDevices) {
    const sideTotals = await totals(targets, pair, entry, at);
    if (sideTotals !== undefined) devices.push(sideTotals);
  }
  const ranks: DiffTotals[] = [];
  const missing: number[] = [];
  for (const entry of allRanks ? pairs : []) {
    const sideTotals = await totals(targets, entry, chooseDevices(entry, device)[0]!, at);
    if (sideTotals !== undefined) ranks.push(sideTotals);
    else if (entry.a.rank !== null) missing.push(entry.a.rank);
  }
  return targets.use(1, async ({ store }) => {
    const sites = await useSides(store, a, b);
    const totalsOnly = { devices, ranks, ranksWithoutMoment: missing };
    const snapshots = await describeDiff(store, sites, a, b, limits, totalsOnly);
    return {
      snapshots,
      grown: {
        components: snapshots.components,
        sites: grownSites(sites, a.groups, b.groups, () => null),
        totalDeltaBytes: snapshots.total_delta_bytes,
        activeBytes: snapshots.a_info.active_bytes,
      },
    };
  });
}

async function sameStep(targets: TwoRuns, pair: SnapshotPair): Promise<readonly [Moment, Moment]> {
  const a = await targets.use(0, ({ store }) => wholeSteps(store, pair.a.snapshotId));
  const b = await targets.use(1, ({ store }) => wholeSteps(store, pair.b.snapshotId));
  const step = commonStep(a, b);
  return [step, step];
}

/**
 * Undefined where a trace does not contain the moment: another device or rank may not have run out of memory, or not
 * reached that step.
 */
async function totals(
  targets: TwoRuns,
  pair: SnapshotPair,
  devices: { readonly a: number; readonly b: number },
  at: readonly [Moment, Moment],
): Promise<DiffTotals | undefined> {
  try {
    const a = await targets.use(0, ({ store }) => readTotals(store, pair.a, devices.a, at[0]));
    const b = await targets.use(1, ({ store }) => readTotals(store, pair.b, devices.b, at[1]));
    return totalsOf(a, b);
  } catch (error) {
    if (error instanceof MbfError && error.code === 'MBF1002') return undefined;
    throw error;
  }
}
