import { describe, expect, it } from 'vitest';
import { stateTotals } from '../../src/allocator/walk/allocator-state.js';
import { BackwardWalk } from '../../src/allocator/walk/backward-walk.js';
import { skipLoudly } from '../support/corpus.js';
import { finalState, walkEvents } from '../support/snapshot-rows.js';
import { freeHoles } from '../support/states/free-holes.js';
import { allRecordings } from './all-recordings.js';

describe('recordings of the corpus', () => {
  const recordings = allRecordings();
  if (recordings.length === 0) {
    skipLoudly('backward walk', 'the corpus (set MBF_CORPUS) and python3');
    return;
  }
  it.each(recordings)('$name device $recording.device', ({ recording, settings, synthetic, truth }) => {
    const { events } = recording;
    const ooms = truth.oom_entries.map((oom) => oom.index);
    const last = events.length - 1;
    const walk = new BackwardWalk(finalState(recording), settings, {
      captureAfter: [...ooms, ...ooms.map((seq) => seq - 1), last],
    });
    for (let end = events.length; end > 0; end -= 4096) {
      const from = Math.max(0, end - 4096);
      walk.undo(walkEvents(events.slice(from, end), from));
    }
    const start = walk.finish();
    expect(walk.reservedBytes).toBe(truth.anchored_start_reserved);
    expect(walk.peakReserved.bytes).toBe(truth.anchored_peak_reserved);
    expect(stateTotals(start).reservedBytes).toBe(walk.reservedBytes);
    expect(walk.exact).toBe(!synthetic);
    // What the corpus calls synthetic contradicts the allocator's rules; it is only to be survived.
    if (synthetic) return;
    expect(walk.violations).toEqual([]);
    expect(stateTotals(start).uncertainBlocks).toBe(0);
    // The peak is a maximum of real states: capture it and its neighbours in a second walk.
    const { seq, bytes } = walk.peak;
    if (seq !== null) {
      const again = new BackwardWalk(finalState(recording), settings, { captureAfter: [seq - 1, seq, seq + 1] });
      again.undo(walkEvents(events));
      again.finish();
      const at = (moment: number): number => stateTotals(again.captured(moment)!).activeBytes;
      expect(at(seq)).toBe(bytes);
      expect(at(seq - 1)).toBeLessThan(bytes);
      expect(at(seq + 1)).toBeLessThanOrEqual(bytes);
    }
    for (const oom of truth.oom_entries) {
      const state = walk.captured(oom.index)!;
      expect(stateTotals(state)).toEqual(stateTotals(walk.captured(oom.index - 1)!));
      expect(stateTotals(state).reservedBytes).toBe(oom.reserved_at_oom);
    }
  });

  it('gives the known accounts of an out-of-memory moment', () => {
    let seen = 0;
    for (const { recording, settings, truth } of recordings) {
      if (!truth.oom_entries.some((oom) => oom.requested === 5_308_694_528)) continue;
      const oom = recording.events.findIndex((event) => event.action === 'oom');
      if (oom < 0) continue;
      seen += 1;
      const walk = new BackwardWalk(finalState(recording), settings, { captureAfter: [oom] });
      walk.undo(walkEvents(recording.events));
      const state = walk.captured(oom)!;
      const { segments, blocks } = state;
      expect(stateTotals(state)).toEqual({
        reservedBytes: 84_202_749_952,
        activeBytes: 84_063_358_976,
        allocatedBytes: 84_063_358_976,
        pendingBytes: 0,
        requestedBytes: 84_063_351_764,
        requestedUnknownBlocks: 0,
        uncertainBlocks: 0,
        uncertainBytes: 0,
      });
      expect(blocks.count).toBe(111);
      const holes = freeHoles(state);
      expect(holes.bytes.reduce((sum, hole) => sum + hole, 0)).toBe(139_390_976);
      expect(Math.max(...holes.bytes)).toBe(17_313_792);
      const reserved = [0, 0];
      const live = [0, 0];
      for (let i = 0; i < segments.count; i += 1) reserved[segments.small[i]!]! += segments.totalBytes[i]!;
      for (let row = 0; row < blocks.count; row += 1) {
        live[segments.small[blocks.segment[row]!]!]! += blocks.sizeBytes[row]!;
      }
      expect({ reserved, live }).toEqual({
        reserved: [84_200_652_800, 2_097_152],
        live: [84_061_820_416, 1_538_560],
      });
    }
    if (seen === 0) console.warn('backward walk: the corpus has no recording with that out-of-memory event');
  });
});
