import type { ParserSpec } from '../../src/model/parser.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { readLog, readLogBytes } from './read-log.js';
import { sniffLog } from './sniff.js';

export { explainLog } from './explain-log.js';
export { listFormats } from './list-formats.js';

/** Text logs of any training job: finds failure messages. Any bytes are a log of some kind; it fails on I/O errors only. */
export const logParser: ParserSpec = {
  id: 'log',
  title: 'text log',
  sniff: sniffLog,
  async parse(source, sink, context) {
    const tally = await readLog(source, {
      incident: (row) => sink.incident(row),
      note: (note) => sink.note(note),
      logRow: (finding, place) => sink.logRow(finding, place),
      attempt: (row) => sink.attempt(row),
      progress: (bytes) => context.progress?.(bytes),
    });
    return { rank: tally.rank, rankOrigin: tally.rankOrigin };
  },
};

/**
 * The failure messages of a text in memory (a pasted message, a field of a report), in the order of their lines; the same
 * rules as for files. Notes are dropped.
 */
export function incidentsInText(text: string): IncidentRow[] {
  const rows: IncidentRow[] = [];
  readLogBytes(Buffer.from(text, 'utf8'), { incident: (row) => rows.push(row), note: () => {} });
  return rows.sort((a, b) => a.offset - b.offset);
}
