import type { SnapshotSink } from '../../src/model/parser.js';

/**
 * A sink may put what it gets into the memory of the module, and so make it grow: `after` is called when it has.
 */
export function watched(out: SnapshotSink, after: () => void): SnapshotSink {
  const then =
    <T>(take: (rows: T) => void) =>
    (rows: T): void => {
      take(rows);
      after();
    };
  return {
    events: then((batch) => out.events(batch)),
    segments: then((batch) => out.segments(batch)),
    blocks: then((batch) => out.blocks(batch)),
    annotations: then((batch) => out.annotations(batch)),
    hostEvents: then((batch) => out.hostEvents(batch)),
    hostSegments: then((batch) => out.hostSegments(batch)),
    oom: then((row) => out.oom(row)),
    eventExtra: then((row) => out.eventExtra(row)),
    end: (summary) => out.end(summary),
  };
}
