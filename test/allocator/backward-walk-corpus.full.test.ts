import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { settingsFromSnapshot } from '../../src/allocator/settings.js';
import { freeHoles, stateTotals } from '../../src/allocator/walk/allocator-state.js';
import { BackwardWalk } from '../../src/allocator/walk/backward-walk.js';
import { decode, finalState, walkEvents } from './corpus-recordings.js';

const CORPUS = process.env['MBF_CORPUS'] ?? fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
const SNAPSHOTS = join(CORPUS, 'snapshots');

interface Truth {
  readonly traces?: Record<
    string,
    {
      readonly entries: number;
      readonly anchored_start_reserved: number;
      readonly anchored_peak_reserved: number;
      readonly oom_entries: readonly {
        readonly index: number;
        readonly reserved_at_oom: number;
        readonly requested: number;
      }[];
    }
  >;
}

const files = existsSync(SNAPSHOTS) ? readdirSync(SNAPSHOTS).filter((name) => /\.(pickle|pkl)$/.test(name)) : [];
const python = spawnSync('python3', ['--version']).status === 0;

describe('recordings of the corpus', () => {
  if (files.length === 0 || !python) {
    console.warn(`backward walk: corpus test skipped: ${python ? 'no corpus (set MBF_CORPUS)' : 'no python3'}`);
    it.skip('needs the corpus and python3', () => {});
    return;
  }
  // What the corpus calls synthetic contradicts the allocator's rules; it is only to be survived.
  const notes = readFileSync(join(CORPUS, 'README.md'), 'utf8');
  const synthetics = new Set([...notes.matchAll(/`([^`]+)` is synthetic/g)].map((match) => match[1]));
  for (const file of files) {
    const truth: Truth = JSON.parse(readFileSync(join(SNAPSHOTS, `${file}.truth.json`), 'utf8'));
    const long = Object.values(truth.traces ?? {}).some((trace) => trace.entries >= 50);
    if (!long) continue;
    const synthetic = synthetics.has(file.replace(/\.\w+$/, ''));
    it(file, () => {
      const { settings, recordings } = decode(join(SNAPSHOTS, file));
      for (const recording of recordings) {
        const { events } = recording;
        const expected = truth.traces![recording.device]!;
        const ooms = expected.oom_entries.map((oom) => oom.index);
        const last = events.length - 1;
        const walk = new BackwardWalk(finalState(recording), settingsFromSnapshot(new Map(Object.entries(settings))), {
          captureAfter: [...ooms, ...ooms.map((seq) => seq - 1), last],
        });
        for (let end = events.length; end > 0; end -= 4096) {
          const from = Math.max(0, end - 4096);
          walk.undo(walkEvents(events.slice(from, end), from));
        }
        const start = walk.finish();
        expect(walk.reservedBytes).toBe(expected.anchored_start_reserved);
        expect(walk.peakReserved.bytes).toBe(expected.anchored_peak_reserved);
        expect(stateTotals(start).reservedBytes).toBe(walk.reservedBytes);
        expect(walk.exact).toBe(!synthetic);
        if (synthetic) continue;
        expect(walk.violations).toEqual([]);
        expect(stateTotals(start).uncertainBlocks).toBe(0);
        // The peak is a maximum of real states: capture it and its neighbours in a second walk.
        const { seq, bytes } = walk.peak;
        if (seq !== null) {
          const again = new BackwardWalk(
            finalState(recording),
            settingsFromSnapshot(new Map(Object.entries(settings))),
            {
              captureAfter: [seq - 1, seq, seq + 1],
            },
          );
          again.undo(walkEvents(events, 0));
          again.finish();
          const at = (moment: number): number => stateTotals(again.captured(moment)!).activeBytes;
          expect(at(seq)).toBe(bytes);
          expect(at(seq - 1)).toBeLessThan(bytes);
          expect(at(seq + 1)).toBeLessThanOrEqual(bytes);
        }
        for (const oom of expected.oom_entries) {
          const state = walk.captured(oom.index)!;
          expect(stateTotals(state)).toEqual(stateTotals(walk.captured(oom.index - 1)!));
          expect(stateTotals(state).reservedBytes).toBe(oom.reserved_at_oom);
        }
      }
    });
  }

  it('gives the known accounts of an out-of-memory moment', () => {
    let seen = 0;
    for (const file of files) {
      const truth: Truth = JSON.parse(readFileSync(join(SNAPSHOTS, `${file}.truth.json`), 'utf8'));
      const ooms = Object.values(truth.traces ?? {}).flatMap((trace) => trace.oom_entries ?? []);
      if (!ooms.some((oom) => oom.requested === 5_308_694_528)) continue;
      const { settings, recordings } = decode(join(SNAPSHOTS, file));
      for (const recording of recordings) {
        const oom = recording.events.findIndex((event) => event[0] === 'oom');
        if (oom < 0) continue;
        seen += 1;
        const walk = new BackwardWalk(finalState(recording), settingsFromSnapshot(new Map(Object.entries(settings))), {
          captureAfter: [oom],
        });
        walk.undo(walkEvents(recording.events, 0));
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
    }
    if (seen === 0) console.warn('backward walk: the corpus has no recording with that out-of-memory event');
  });
});
