/** The corpus's recordings, walked back and ready to be replayed. */
import { finalState, walkEvents } from '../../support/snapshot-rows.js';
import { allRecordings, type CorpusRecording } from '../corpus-recordings.js';
import { type PreparedRecording, prepare } from './played-recording.js';

export interface CorpusReplay {
  readonly columns: CorpusRecording;
  readonly name: string;
  readonly device: number;
  readonly prepared: PreparedRecording;
  /** The walk back met no contradiction. */
  readonly holds: boolean;
}

/** Empty without the corpus or Python. */
export function corpusReplays(): CorpusReplay[] {
  return allRecordings().map((columns) => {
    const { name, recording, settings } = columns;
    const prepared = prepare(finalState(recording), walkEvents(recording.events), settings, (pool) => [pool, 0]);
    return { columns, name, device: recording.device, prepared, holds: prepared.walk.violations === 0 };
  });
}

/** The same recording as if its first `skip` entries had been overwritten. */
export function withoutHead({ columns: { recording, settings } }: CorpusReplay, skip: number): PreparedRecording {
  const events = walkEvents(recording.events.slice(skip), skip);
  return prepare(finalState(recording), events, settings, (pool) => [pool, 0]);
}
