/** `run-<id>.wandb`: everything a run sent to W&B, online and offline alike. */
import { MbfError } from '../../src/model/errors.js';
import { rankFields } from '../../src/model/log-rows.js';
import type { ByteSource, ParseContext, ParseSummary, RowSink } from '../../src/model/parser.js';
import { type Damage, FILE_HEADER_BYTES, readRecords } from './chunk-reader.js';
import { RunReader } from './run-reader.js';

const IDENT = ':W&B\xe1\xbe';
/** Newer versions may have records with less content (`_step`), in the same chunks. */
const KNOWN_VERSION = 0;

export async function readLog(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const reader = new RunReader(sink);
  const { header, ...damage } = await readRecords(source, reader, context.progress);
  const problem = headerProblem(header, damage.sizeBytes);
  if (damage.records === 0 && (problem !== null || damage.sizeBytes > FILE_HEADER_BYTES)) {
    throw new MbfError('MBF2911', problem ?? 'no record in it is whole', { offset: problem === null ? 7 : 0 });
  }
  for (const note of reader.end()) sink.note(note);
  if (header[FILE_HEADER_BYTES - 1] !== KNOWN_VERSION && problem === null) {
    const text = `is of version ${header[6]}; this version of mbforensics knows version ${KNOWN_VERSION}`;
    sink.note({ kind: 'wandb_version', severity: 'warning', text, offset: 6 });
  }
  noteDamage(damage, problem, sink);
  noteEnd(damage, reader.hasExit, sink);
  return { ...rankFields(reader.rank), clock: 'utc' };
}

function headerProblem(header: Uint8Array, sizeBytes: number): string | null {
  if (header.length < FILE_HEADER_BYTES) return `has ${sizeBytes} bytes, fewer than its header`;
  return Buffer.from(header).toString('latin1').startsWith(IDENT) ? null : 'does not begin with the header of W&B';
}

function noteDamage({ places, lostBytes, firstBad }: Damage, problem: string | null, sink: RowSink): void {
  if (places === 0 && problem === null) return;
  const lost = lostBytes + (problem === null ? 0 : FILE_HEADER_BYTES);
  const offset = problem === null ? firstBad! : 0;
  const text = `damaged: ${lost} bytes, the first of them byte ${offset}, hold no whole record; all others are read`;
  sink.note({ kind: 'wandb_damaged', severity: 'warning', text, offset, count: places + (problem === null ? 0 : 1) });
}

function noteEnd({ cutAt, sizeBytes }: Damage, hasExit: boolean, sink: RowSink): void {
  if (cutAt === null && hasExit) return;
  const cut =
    cutAt === null ? '' : `; its last ${sizeBytes - cutAt} bytes, from byte ${cutAt} on, are part of a record`;
  const text = `the run wrote no exit: its process was killed, or goes on${cut}`;
  const end = hasExit
    ? `ends with ${sizeBytes - cutAt!} bytes, from byte ${cutAt} on, which are not a complete record`
    : text;
  sink.note({ kind: 'wandb_unfinished', severity: 'info', text: end, offset: cutAt ?? sizeBytes });
}
