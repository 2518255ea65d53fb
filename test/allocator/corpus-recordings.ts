/**
 * Recordings of the corpus as plain rows, read by Python so that tests of the allocator depend on no parser of ours.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AllocatorSettings, settingsFromSnapshot } from '../../src/allocator/settings.js';
import { CORPUS, hasPython, SNAPSHOTS, snapshotPickles, type Truth, truthOf } from '../support/corpus.js';
import { python } from '../support/python-truth.js';
import type { SnapshotRows } from '../support/snapshot-rows.js';

/** Prints the recordings of a pickle with at least 50 entries as rows. */
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
        segments.append({'address': s['address'], 'bytes': s['total_size'], 'stream': s.get('stream'),
                         'type': s.get('segment_type'), 'expandable': s.get('is_expandable')})
        at = s['address']
        for b in s['blocks']:
            blocks.append({'address': b.get('address', at), 'bytes': b['size'],
                           'requested': b.get('requested_size', -1), 'state': b['state']})
            at += b['size']
    events = [{'action': e['action'], 'address': e.get('addr'), 'bytes': e.get('size'), 'stream': e.get('stream')}
              for e in trace]
    out.append({'device': i, 'segments': segments, 'blocks': blocks, 'events': events})
json.dump({'settings': settings, 'recordings': out}, sys.stdout)
`;

export interface Recording extends SnapshotRows {
  readonly device: number;
}

export function decode(path: string): { settings: Record<string, string>; recordings: Recording[] } {
  return JSON.parse(python(DECODE, [path]));
}

export interface CorpusRecording {
  readonly name: string;
  /** What an independent decoder found in the trace. */
  readonly truth: NonNullable<Truth['traces']>[string];
  readonly recording: Recording;
  readonly settings: AllocatorSettings;
  /** What the corpus calls synthetic contradicts the allocator's rules. */
  readonly synthetic: boolean;
}

/** Empty without the corpus or Python. */
export function allRecordings(): CorpusRecording[] {
  if (!hasPython || snapshotPickles().length === 0) return [];
  const notes = readFileSync(join(CORPUS, 'README.md'), 'utf8');
  const synthetics = new Set([...notes.matchAll(/`([^`]+)` is synthetic/g)].map((match) => match[1]));
  return snapshotPickles().flatMap((name) => {
    const traces = truthOf(name).traces ?? {};
    if (!Object.values(traces).some((trace) => trace.entries >= 50)) return [];
    const { settings, recordings } = decode(join(SNAPSHOTS, name));
    return recordings.map((recording) => ({
      name,
      truth: traces[recording.device]!,
      recording,
      settings: settingsFromSnapshot(new Map(Object.entries(settings))),
      synthetic: synthetics.has(name.replace(/\.\w+$/, '')),
    }));
  });
}
