/** Every device trace of the corpus with at least 50 entries, read by Python. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AllocatorSettings, settingsFromSnapshot } from '../../src/allocator/settings.js';
import { CORPUS, hasPython, SNAPSHOTS, snapshotPickles, type Truth, truthOf } from '../support/corpus.js';
import { decode, type Recording } from './corpus-recordings.js';

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
