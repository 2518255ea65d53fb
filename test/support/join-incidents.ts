/** The parts that make incidents of lines, wired together without the reader: every line is fed to all of them. */
import { MessageAssembly, type Segment } from '../../parsers/log/assembly.js';
import { AttemptTracker } from '../../parsers/log/attempts.js';
import { ANCHORS } from '../../parsers/log/find-messages.js';
import { FormatReader } from '../../parsers/log/format-reader.js';
import { FAILURE_FORMATS } from '../../parsers/log/formats/failures.js';
import { IncidentJoiner } from '../../parsers/log/join-incidents.js';
import { SRUN_LABEL } from '../../parsers/log/prefix-rules.js';
import { stripPrefix } from '../../parsers/log/strip-prefix.js';
import { TRACEBACK_ANCHORS, type Traceback, TracebackAssembly } from '../../parsers/log/tracebacks.js';
import type { AttemptRow, KeptFinding } from '../../src/model/log-rows.js';
import type { IncidentRow } from '../../src/model/tables.js';

export interface ReadIncidents {
  readonly incidents: readonly IncidentRow[];
  readonly tracebacks: readonly Traceback[];
  readonly rows: readonly KeptFinding[];
  readonly attempts: readonly AttemptRow[];
}

/** The segments of a text, as the reader cuts them (without carriage returns and overlong lines). */
export function segmentsOf(text: string, srunLabelled = false): Segment[] {
  const lines = text.split('\n');
  let offset = 0;
  return lines.map((line, index) => {
    const prefix = stripPrefix(line, srunLabelled ? SRUN_LABEL : null);
    const nextOffset = offset + Buffer.byteLength(line) + 1;
    const mask = ANCHORS.reduce((bits, anchor) => (line.includes(anchor.literal) ? bits | anchor.mask : bits), 0);
    const segment: Segment = {
      text: line.slice(prefix.end),
      prefix,
      line: index + 1,
      offset,
      nextOffset,
      mask,
      deviceAssert: line.includes('device-side assert'),
      continues: false,
    };
    offset = nextOffset;
    return segment;
  });
}

export function readIncidents(text: string, srunLabelled = false): ReadIncidents {
  const incidents: IncidentRow[] = [];
  const tracebacks: Traceback[] = [];
  const rows: KeptFinding[] = [];
  const attemptRows: AttemptRow[] = [];
  const attempts = new AttemptTracker((row) => attemptRows.push(row));
  const joiner = new IncidentJoiner((row) => incidents.push(row), { attemptAt: (line) => attempts.at(line) });
  const messages = new MessageAssembly(
    (row) => joiner.message(row),
    () => {},
  );
  const assembly = new TracebackAssembly((traceback) => {
    tracebacks.push(traceback);
    joiner.traceback(traceback);
  });
  const formats = new FormatReader(
    {
      row: (finding) => rows.push(finding),
      failure: (finding, place, segment) => joiner.failure(finding, place, segment),
    },
    attempts,
  );
  for (const segment of segmentsOf(text, srunLabelled)) {
    const hit = FAILURE_FORMATS.filter(({ anchors }) => anchors.some((anchor) => segment.text.includes(anchor)));
    messages.feed(segment);
    assembly.feed(
      segment,
      TRACEBACK_ANCHORS.some((anchor) => segment.text.includes(anchor)),
    );
    formats.feed(segment, hit);
  }
  messages.end();
  assembly.end();
  formats.end();
  joiner.end();
  return { incidents, tracebacks, rows, attempts: attemptRows };
}
