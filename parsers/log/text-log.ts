import type { ParserSpec } from '../../src/model/parser.js';
import { unwrapSource } from '../../src/text/log-container.js';
import type { LogOutput } from './read-log.js';
import { logNotation, sniffLog } from './sniff.js';

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
    const { source: log, container, isReversed, lineOf } = await unwrapSource(source, logNotation);
    if (container?.isNewestFirst === true)
      sink.note({
        kind: 'newest_first',
        severity: isReversed ? 'info' : 'warning',
        text: `It is ${container.what}, newest first: its ${isReversed ? 'records were read from the last to the first.' : 'lines were read in the order of the file, backwards in time. Export it oldest first, or turn it round (tac).'}`,
        line: 1,
      });
    const inFile = <Row extends { readonly line?: number | undefined }>(row: Row): Row =>
      container === null || row.line === undefined ? row : { ...row, line: lineOf(row.line) };
    const vocabulary =
      context.formats === undefined ? undefined : (await import('./user-formats.js')).vocabularyWith(context.formats);
    const output: LogOutput = {
      incident: (row) => {
        const { lastLine, tracebackLine } = row;
        sink.incident({
          ...inFile(row),
          lastLine: lineOf(lastLine),
          tracebackLine: tracebackLine === null ? null : lineOf(tracebackLine),
        });
      },
      note: (note) => sink.note(inFile(note)),
      logRow: (finding, place) => sink.logRow(finding, inFile(place)),
      attempt: (row) => sink.attempt(inFile(row)),
      progress: (bytes) => context.progress?.(bytes),
    };
    const tally = await readLog(log, output, vocabulary);
    return { rank: tally.rank, rankOrigin: tally.rankOrigin };
  },
};
