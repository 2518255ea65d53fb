/** What a decoder sent, as calls to the sink of a writer: from a thread as it comes, or of a whole file at once. */
import { batchBytes, ColumnBatch } from '../../model/columns.js';
import { MbfError } from '../../model/errors.js';
import type { ParseContext } from '../../model/parser.js';
import type { Note } from '../../model/tables.js';
import { MIB } from '../../model/units.js';
import type { DerivedSink, DerivedSnapshotSink } from '../derive/derive-snapshot.js';
import { BUFFER_BYTES, type FromDecoder, layoutOf, ReceivedDictionary, type Sinks } from './decode-protocol.js';
import type { DecodedSource } from './decode-source.js';
import { failed, sendingSink } from './sending-sink.js';

type Progress = Pick<ParseContext, 'progress'>;
/** The message that ends a file. */
type End = Extract<FromDecoder, { readonly type: 'done' | 'failed' | 'bug' }>;

export const isEnd = (message: FromDecoder): message is End =>
  message.type === 'done' || message.type === 'failed' || message.type === 'bug';

/** Makes the calls that were sent as messages. */
class Receiver {
  private readonly sink: DerivedSink;
  private readonly dictionary = new ReceivedDictionary();
  private snapshot: DerivedSnapshotSink | undefined;

  constructor(sink: DerivedSink) {
    this.sink = sink;
  }

  async take(message: Exclude<FromDecoder, End>): Promise<void> {
    const { sink, dictionary } = this;
    switch (message.type) {
      case 'snapshot':
        this.snapshot = await sink.snapshot(dictionary, dictionary);
        break;
      case 'call': {
        const methods = this.called(message.sink) as
          | Readonly<Record<string, (...args: unknown[]) => unknown>>
          | undefined;
        const pending = methods?.[message.method]?.(...message.args);
        if (pending instanceof Promise) await pending;
        break;
      }
      case 'rows': {
        const { of, rows, buffer } = message;
        const batch = new ColumnBatch(layoutOf(of), rows, buffer);
        batch.rows = rows;
        if (of.sink === 'nsys') sink.nsys?.rows(of.kind, batch);
        else if (of.sink === 'source') sink.textRows(of.kind, batch, of.newTexts);
        else {
          dictionary.add(of.dictionary);
          this.snapshot?.[of.kind](batch);
        }
        break;
      }
      case 'snapshot_end':
        dictionary.add(message.dictionary);
        this.snapshot?.end(message.summary, message.derivation);
        break;
    }
  }

  private called(name: keyof Sinks): unknown {
    return { source: this.sink, snapshot: this.snapshot, nsys: this.sink.nsys }[name];
  }
}

const errorOf = (end: Extract<End, { readonly type: 'failed' }>): MbfError =>
  new MbfError(end.code, end.fact, end.place);

/** Throws what ended a file, if it was an error. */
function decodedOf(end: End): DecodedSource {
  if (end.type === 'done') return { summary: end.summary, digest: end.digest };
  if (end.type === 'failed') throw errorOf(end);
  const bug = new Error(end.message);
  bug.stack = end.stack;
  throw bug;
}

/** Messages of one thread, in order. */
export interface Messages {
  next(): Promise<FromDecoder>;
  giveBack(buffer: ArrayBuffer): void;
  /** Discards the remaining messages of a file whose rows are not needed: those of the next file follow them. */
  skipFile(): Promise<void>;
}

/** Passes on the rows of a file as they come. */
export async function receive(messages: Messages, sink: DerivedSink, { progress }: Progress): Promise<DecodedSource> {
  const receiver = new Receiver(sink);
  let hasEnded = false;
  try {
    for (;;) {
      const message = await messages.next();
      if (isEnd(message)) {
        hasEnded = true;
        return decodedOf(message);
      }
      if (message.type === 'progress') progress?.(message.bytes);
      else await receiver.take(message);
      if (message.type === 'rows') messages.giveBack(message.buffer);
    }
  } finally {
    if (!hasEnded) await messages.skipFile();
  }
}

/** A small file that was decoded to its end. Nothing is written of one that failed, so nothing has to be undone. */
export class DecodedFile {
  private readonly messages: readonly FromDecoder[];
  private readonly end: End;

  constructor(messages: readonly FromDecoder[], end: End) {
    this.messages = messages;
    this.end = end;
  }

  get error(): MbfError | undefined {
    return this.end.type === 'failed' ? errorOf(this.end) : undefined;
  }

  /** What was odd before it failed. */
  notes(): Note[] {
    return this.messages.flatMap((message) =>
      message.type === 'call' && message.sink === 'source' && message.method === 'note'
        ? [message.args[0] as Note]
        : [],
    );
  }

  /** Makes the calls of the decoder; once, since the sink may change the rows. */
  async sendTo(sink: DerivedSink): Promise<DecodedSource> {
    const receiver = new Receiver(sink);
    for (const message of this.messages) if (!isEnd(message)) await receiver.take(message);
    return decodedOf(this.end);
  }
}

/** Of a small file's messages; beyond, it is not small. A compressed one may inflate to a thousand times its size. */
const MOST_BYTES = 32 * MIB;
const MOST_MESSAGES = 50_000;

class TooMuch extends Error {}

/** Keeps what a decoder sends. */
class Kept {
  readonly messages: FromDecoder[] = [];
  private bytes = 0;

  add(message: FromDecoder): void {
    this.messages.push(message);
    if (message.type === 'rows') this.bytes += message.buffer.byteLength;
    if (this.isTooMuch) throw new TooMuch();
  }

  get isTooMuch(): boolean {
    return this.bytes > MOST_BYTES || this.messages.length > MOST_MESSAGES;
  }
}

/** Undefined if the file turns out to be large: it has to be decoded again. */
export async function keepDecoded(
  decode: (sink: DerivedSink) => Promise<DecodedSource>,
): Promise<DecodedFile | undefined> {
  const kept = new Kept();
  const sink = sendingSink(
    (message) => kept.add(message),
    (bytes) => new ArrayBuffer(bytes),
  );
  try {
    const decoded = await decode(sink);
    return kept.isTooMuch ? undefined : new DecodedFile(kept.messages, { type: 'done', ...decoded });
  } catch (error) {
    if (kept.isTooMuch) return undefined;
    if (!(error instanceof MbfError)) throw error;
    return new DecodedFile(kept.messages, failed(error));
  }
}

/** {@link keepDecoded} of a file that a thread decodes. */
export async function keepReceived(messages: Messages, { progress }: Progress): Promise<DecodedFile | undefined> {
  const kept = new Kept();
  for (;;) {
    const message = await messages.next();
    if (isEnd(message)) {
      if (message.type === 'bug') decodedOf(message);
      return new DecodedFile(kept.messages, message);
    }
    if (message.type === 'progress') {
      progress?.(message.bytes);
      continue;
    }
    try {
      kept.add(message.type === 'rows' ? { ...message, buffer: copied(message, messages) } : message);
    } catch {
      await messages.skipFile();
      return undefined;
    }
  }
}

/** The thread's buffers are few, and it waits for them: what they hold is copied. */
function copied(
  { buffer, of, rows }: Extract<FromDecoder, { readonly type: 'rows' }>,
  messages: Messages,
): ArrayBuffer {
  if (buffer.byteLength < BUFFER_BYTES) return buffer;
  const copy = buffer.slice(0, batchBytes(layoutOf(of), rows));
  messages.giveBack(buffer);
  return copy;
}
