import type { ParserSpec } from '../../src/model/parser.js';
import type { LogOutput } from './read-log.js';
import { sniffLog } from './sniff.js';

/**
 * Text logs of any training job: iterations, memory, settings, phases, failures. Any bytes are a log of some kind; it
 * fails on I/O errors only.
 */
export const logParser: ParserSpec = {
  id: 'log',
  title: 'text log',
  sniff: sniffLog,
  async parse(source, sink, context) {
    // With the first log: two hundred formats take as long to load as Node to start.
    const { readLog } = await import('./read-log.js');
    const vocabulary =
      context.formats === undefined ? undefined : (await import('./user-formats.js')).vocabularyWith(context.formats);
    const output: LogOutput = {
      incident: (row) => sink.incident(row),
      note: (note) => sink.note(note),
      logRow: (finding, place) => sink.logRow(finding, place),
      attempt: (row) => sink.attempt(row),
      progress: (bytes) => context.progress?.(bytes),
    };
    const tally = await readLog(source, output, vocabulary);
    return { rank: tally.rank, rankOrigin: tally.rankOrigin };
  },
};
