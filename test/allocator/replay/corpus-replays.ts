/** The corpus's recordings, walked back and ready to be replayed. */
import { allRecordings } from '../all-recordings.js';
import { finalState, walkEvents } from '../corpus-recordings.js';
import { type PreparedRecording, prepare } from './played-recording.js';

export interface CorpusReplay {
  readonly name: string;
  readonly device: number;
  readonly prepared: PreparedRecording;
  /** The walk back met no contradiction. */
  readonly holds: boolean;
}

/** Empty without the corpus or Python. */
export function corpusReplays(): CorpusReplay[] {
  return allRecordings().map(({ name, recording, settings }) => {
    const prepared = prepare(finalState(recording), walkEvents(recording.events, 0), settings, (pool) => [pool, 0]);
    return { name, device: recording.device, prepared, holds: prepared.walk.violations === 0 };
  });
}
