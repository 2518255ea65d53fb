import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { freeHoles, stateTotals } from '../../src/allocator/allocator-state.js';
import { BackwardWalk, type FinalState, type WalkEvents } from '../../src/allocator/backward-walk.js';
import { settingsFromSnapshot } from '../../src/allocator/settings.js';
import { BLOCK_STATES, SEGMENT_TYPES, TRACE_ACTIONS } from '../../src/model/vocabulary.js';

const CORPUS = process.env['MBF_CORPUS'] ?? fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
const SNAPSHOTS = join(CORPUS, 'snapshots');

/** Prints the recordings of a pickle as columns. An unpickler of its own, so that this test depends on no parser of ours. */
const DECODE = `
import json, pickle, sys
class R(pickle.Unpickler):
    def find_class(self, m, n): raise pickle.UnpicklingError('refused')
d = R(open(sys.argv[1], 'rb')).load()
out = []
traces = d.get('device_traces', []) if isinstance(d, dict) else []
settings = {}
def flat(prefix, value):
    for k, v in value.items():
        if isinstance(v, dict): flat(prefix + k + '.', v)
        else: settings[prefix + k] = str(v)
if traces: flat('', d.get('allocator_settings') or {})
for i, trace in enumerate(traces):
    if len(trace) < 50: continue
    segments, blocks = [], []
    for s in d['segments']:
        if s.get('device', 0) != i: continue
        segments.append([s['address'], s['total_size'], s.get('stream'), s.get('segment_type'), s.get('is_expandable')])
        at = s['address']
        for b in s['blocks']:
            blocks.append([b.get('address', at), b['size'], b.get('requested_size', -1), b['state']])
            at += b['size']
    events = [[e['action'], e.get('addr'), e.get('size'), e.get('stream')] for e in trace]
    out.append({'device': i, 'segments': segments, 'blocks': blocks, 'events': events})
json.dump({'settings': settings, 'recordings': out}, sys.stdout)
`;

interface Recording {
  readonly device: number;
  readonly segments: readonly [number, number, number | null, string, boolean | null][];
  readonly blocks: readonly [number, number, number, string][];
  readonly events: readonly [string, number | null, number | null, number | null][];
}
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

function decode(path: string): { settings: Record<string, string>; recordings: Recording[] } {
  const run = spawnSync('python3', ['-c', DECODE, path], { maxBuffer: 1 << 30, encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`python3 could not read the pickle: ${run.stderr.trim().split('\n').at(-1)}`);
  return JSON.parse(run.stdout);
}

const indexIn = (words: readonly string[], word: string): number => words.indexOf(word);

function finalState({ segments, blocks }: Recording): FinalState {
  const state = (name: string): number => indexIn(BLOCK_STATES, name.replace('awaiting', 'pending'));
  return {
    segments: {
      count: segments.length,
      address: Float64Array.from(segments, (s) => s[0]),
      totalBytes: Float64Array.from(segments, (s) => s[1]),
      stream: Float64Array.from(segments, (s) => s[2] ?? Number.NaN),
      type: Uint8Array.from(segments, (s) => indexIn(SEGMENT_TYPES, s[3])),
      pool: new Int32Array(segments.length),
      expandable: Uint8Array.from(segments, (s) => (s[4] ? 1 : 0)),
    },
    blocks: {
      count: blocks.length,
      address: Float64Array.from(blocks, (b) => b[0]),
      sizeBytes: Float64Array.from(blocks, (b) => b[1]),
      requestedBytes: Float64Array.from(blocks, (b) => b[2]),
      state: Uint8Array.from(blocks, (b) => state(b[3])),
      stackId: new Int32Array(blocks.length).fill(-1),
    },
  };
}

function walkEvents(events: Recording['events'], from: number): WalkEvents {
  return {
    count: events.length,
    seq: Int32Array.from(events, (_, i) => from + i),
    action: Uint8Array.from(events, (e) => indexIn(TRACE_ACTIONS, e[0])),
    address: Float64Array.from(events, (e) => e[1] ?? Number.NaN),
    sizeBytes: Float64Array.from(events, (e) => e[2] ?? Number.NaN),
    stream: Float64Array.from(events, (e) => e[3] ?? Number.NaN),
    stackId: new Int32Array(events.length).fill(-1),
  };
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
