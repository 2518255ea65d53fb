/** The sink of a decoder whose rows go elsewhere: to another thread, or to a list until the whole file has come. */
import { batchBytes, ColumnBatch } from '../../model/columns.js';
import type { MbfError } from '../../model/errors.js';
import type { Dictionary } from '../../model/parser.js';
import type { DerivedSink, DerivedSnapshotSink } from '../derive/derive-snapshot.js';
import type { StackKeys } from './content-keys.js';
import {
  DictionaryCursor,
  type FromDecoder,
  layoutOf,
  type RowKind,
  type RowsOf,
  type Sinks,
} from './decode-protocol.js';

type Send = (message: FromDecoder, transfer?: ArrayBuffer[]) => void;

type ArgumentsOf<Method> = Method extends (...args: infer Arguments) => unknown ? Arguments : never;

/** The message that ends a file with an error of its own. */
export const failed = (error: MbfError): Extract<FromDecoder, { readonly type: 'failed' }> => ({
  ...{ type: 'failed', code: error.code, fact: error.message, place: error.place },
});

/** `memoryFor` gives what a batch of so many bytes is copied into. */
export function sendingSink(send: Send, memoryFor: (bytes: number) => ArrayBuffer): DerivedSink {
  function sendRows(of: RowsOf, batch: ColumnBatch): void {
    const layout = layoutOf(of);
    const buffer = memoryFor(batchBytes(layout, batch.rows));
    new ColumnBatch(layout, batch.rows, buffer).copyFrom(batch);
    send({ type: 'rows', rows: batch.rows, buffer, of }, [buffer]);
  }

  /** A method of a sink of the other thread. */
  function remote<Sink extends keyof Sinks, Method extends keyof Sinks[Sink] & string>(
    sink: Sink,
    method: Method,
  ): (...args: ArgumentsOf<Sinks[Sink][Method]>) => void {
    return (...args) => send({ type: 'call', sink, method, args });
  }

  function snapshotSink(dictionary: Dictionary, keys: StackKeys): DerivedSnapshotSink {
    const cursor = new DictionaryCursor(dictionary, keys);
    const rowsOf =
      (kind: RowKind) =>
      (batch: ColumnBatch): void =>
        sendRows({ sink: 'snapshot', kind, dictionary: cursor.take() }, batch);
    return {
      segments: rowsOf('segments'),
      blocks: rowsOf('blocks'),
      annotations: rowsOf('annotations'),
      hostEvents: rowsOf('hostEvents'),
      hostSegments: rowsOf('hostSegments'),
      blockLives: rowsOf('blockLives'),
      segmentLives: rowsOf('segmentLives'),
      entries: rowsOf('entries'),
      buckets: rowsOf('buckets'),
      parsed: remote('snapshot', 'parsed'),
      oom: remote('snapshot', 'oom'),
      eventExtra: remote('snapshot', 'eventExtra'),
      end: (summary, derivation) => send({ type: 'snapshot_end', summary, derivation, dictionary: cursor.take() }),
    };
  }

  return {
    note: remote('source', 'note'),
    incident: remote('source', 'incident'),
    droppedIncidents: remote('source', 'droppedIncidents'),
    textRows: (kind, batch, newTexts) => sendRows({ sink: 'source', kind, newTexts }, batch),
    textRow: remote('source', 'textRow'),
    nsys: {
      rows: (kind, batch) => sendRows({ sink: 'nsys', kind }, batch),
      texts: (texts) =>
        send({ type: 'call', sink: 'nsys', method: 'texts', args: [texts] }, [
          texts.ids.buffer,
          texts.ends.buffer,
          texts.bytes.buffer,
        ]),
      fact: remote('nsys', 'fact'),
      rawTable: async (table, columns) => remote('nsys', 'rawTable')(table, columns),
      raw: remote('nsys', 'raw'),
    },
    attempt: remote('source', 'attempt'),
    snapshot: async (dictionary, keys) => {
      send({ type: 'snapshot' });
      return snapshotSink(dictionary, keys);
    },
  };
}
