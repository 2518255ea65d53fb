/**
 * Recordings of the corpus as plain columns, read by Python so that tests of the allocator depend on no parser of ours.
 */
import { spawnSync } from 'node:child_process';
import type { FinalState, WalkEvents } from '../../src/allocator/walk/backward-walk.js';
import { BLOCK_STATES, SEGMENT_TYPES, TRACE_ACTIONS } from '../../src/model/vocabulary.js';

/**
 * Prints the recordings of a pickle as columns. An unpickler of its own, so that this test depends on no parser of
 * ours.
 */
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

export interface Recording {
  readonly device: number;
  readonly segments: readonly [number, number, number | null, string, boolean | null][];
  readonly blocks: readonly [number, number, number, string][];
  readonly events: readonly [string, number | null, number | null, number | null][];
}
export function decode(path: string): { settings: Record<string, string>; recordings: Recording[] } {
  const run = spawnSync('python3', ['-c', DECODE, path], { maxBuffer: 1 << 30, encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`python3 could not read the pickle: ${run.stderr.trim().split('\n').at(-1)}`);
  return JSON.parse(run.stdout);
}

const indexIn = (words: readonly string[], word: string): number => words.indexOf(word);

export function finalState({ segments, blocks }: Recording): FinalState {
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

export function walkEvents(events: Recording['events'], from: number): WalkEvents {
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
