import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MIB } from '../../src/model/units.js';
import { runs } from '../support/level.js';
import { checkInvariants, checkOom, history, play } from './history.js';

describe('10,000 random histories over all settings', () => {
  it('keep every invariant, and their trace gives the state', () => {
    const seen = new Map<string, number>();
    const count = (what: string, by = 1): void => {
      seen.set(what, (seen.get(what) ?? 0) + by);
    };
    fc.assert(
      fc.property(history, (past) => {
        const played = play(past, (now) => checkInvariants(now, past.budgetMiB * MIB));
        for (const report of played.ooms) checkOom(report, played.settings);
        count('oom', played.ooms.length);
        count('retry that helped', played.allocator.statistics.numAllocRetries - played.ooms.length);
        for (const { action, poolId } of played.trace) {
          count(action);
          if (poolId[0] + poolId[1] > 0) count(`${action} in a private pool`);
        }
      }),
      { numRuns: runs(600, 10_000), seed: 20_261_121 },
    );
    // The run is only worth something if it went through the rare paths.
    for (const path of [
      'oom',
      'segment_free',
      'segment_unmap',
      'alloc in a private pool',
      'segment_map in a private pool',
    ])
      expect(seen.get(path), path).toBeGreaterThan(runs(100, 2000));
  });
});
