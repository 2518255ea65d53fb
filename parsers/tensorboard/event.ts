/**
 * The messages of an event file, as far as they hold figures and settings. Upstream: tensorboard
 * `compat/proto/event.proto`, `summary.proto`, `tensor.proto`. Texts and tensors are given as ranges of the record,
 * read by who wants them.
 */
import type { PbfReader } from 'pbf';

/** Bytes of the record: from the first to behind the last. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Event {
  /** Seconds since 1970. */
  readonly wallTime: number;
  readonly step: number;
  /** Only in the first record: `brain.Event:2`. */
  readonly fileVersion: string | undefined;
  readonly summaries: readonly Range[];
  /** `SessionStatus`: 1 START, 2 STOP, 3 CHECKPOINT. */
  readonly sessionStatus: number | undefined;
}

export interface SummaryValue {
  readonly tag: string;
  readonly simple: number | undefined;
  readonly tensor: Range | undefined;
  /** Empty if not stated, as in every summary of a tag but the first. */
  readonly plugin: string;
  readonly pluginContent: Range | undefined;
  /** An image, a histogram or audio in its own field. */
  readonly isMedia: boolean;
}

/** Of a name; names are remembered, and a record may be all name. */
const MOST_TAG_BYTES = 2048;

/** A message that is not an event: its checksum is right, so that it was written so. */
export class Malformed extends Error {}

export function range(pbf: PbfReader, end: number): Range {
  const length = pbf.readVarint();
  const start = pbf.pos;
  pbf.pos = start + length;
  if (pbf.type !== 2 || pbf.pos > end) throw new Malformed('a field reaches beyond its message');
  return { start, end: pbf.pos };
}

/** Calls `field` for every field of a message; what it does not read is skipped. */
export function readMessage(pbf: PbfReader, { start, end }: Range, field: (number: number) => void): void {
  pbf.pos = start;
  for (let number = pbf.nextField(end); number !== 0; number = pbf.nextField(end)) {
    field(number);
    if (pbf.pos > end) throw new Malformed('a field reaches beyond its message');
  }
  if (pbf.pos !== end) throw new Malformed('a message does not end where it should');
}

export function readText(pbf: PbfReader, end: number, mostBytes = Number.POSITIVE_INFINITY): string {
  const { start, end: stop } = range(pbf, end);
  const bytes = Math.min(stop - start, mostBytes);
  return Buffer.from(pbf.buf.buffer, pbf.buf.byteOffset + start, bytes).toString('utf8');
}

/** Throws if the data is not an event. */
export function readEvent(pbf: PbfReader): Event {
  let wallTime = 0;
  let step = 0;
  let fileVersion: string | undefined;
  let sessionStatus: number | undefined;
  const summaries: Range[] = [];
  const message = { start: 0, end: pbf.length };
  readMessage(pbf, message, (number) => {
    if (number === 1) {
      if (pbf.type !== 1) throw new Malformed('a wall time that is not a double');
      wallTime = pbf.readDouble();
    } else if (number === 2) {
      if (pbf.type !== 0) throw new Malformed('a step that is not a number');
      step = pbf.readVarint(true);
    } else if (number === 3) fileVersion = readText(pbf, message.end);
    else if (number === 5) summaries.push(range(pbf, message.end));
    else if (number === 7) {
      const session = range(pbf, message.end);
      readMessage(pbf, session, (part) => {
        if (part === 1 && pbf.type === 0) sessionStatus = pbf.readVarint();
      });
    }
  });
  return { wallTime, step, fileVersion, summaries, sessionStatus };
}

export function readValues(pbf: PbfReader, summary: Range, take: (value: SummaryValue) => void): void {
  const values: Range[] = [];
  readMessage(pbf, summary, (number) => {
    if (number === 1) values.push(range(pbf, summary.end));
  });
  for (const value of values) take(readValue(pbf, value));
}

function readValue(pbf: PbfReader, where: Range): SummaryValue {
  let tag = '';
  let simple: number | undefined;
  let tensor: Range | undefined;
  let metadata: Range | undefined;
  let isMedia = false;
  readMessage(pbf, where, (number) => {
    if (number === 1) tag = readText(pbf, where.end, MOST_TAG_BYTES);
    else if (number === 2) {
      if (pbf.type !== 5) throw new Malformed('a simple value that is not a float');
      simple = pbf.readFloat();
    } else if (number === 8) tensor = range(pbf, where.end);
    else if (number === 9) metadata = range(pbf, where.end);
    else if (number >= 3 && number <= 6) isMedia = true;
  });
  let plugin = '';
  let pluginContent: Range | undefined;
  if (metadata !== undefined) {
    const outer: Range = metadata;
    let data: Range | undefined;
    readMessage(pbf, outer, (number) => {
      if (number === 1) data = range(pbf, outer.end);
    });
    if (data !== undefined) {
      const inner: Range = data;
      readMessage(pbf, inner, (number) => {
        if (number === 1) plugin = readText(pbf, inner.end);
        else if (number === 2) pluginContent = range(pbf, inner.end);
      });
    }
  }
  return { tag, simple, tensor, plugin, pluginContent, isMedia };
}
