import type { Head, ParserSpec, Sniff } from '../../src/model/parser.js';
import { isEventFileName } from './file-name.js';
import { fitsLength } from './record-reader.js';

/** TensorBoard event files (`events.out.tfevents.*`). See FORMAT.md. */
export const tensorboardEvents: ParserSpec = {
  id: 'tensorboard',
  title: 'TensorBoard event file',
  sniff: sniffEvents,
  // With the first file that is one.
  parse: async (source, sink, context) => (await import('./read-events.js')).readEventFile(source, sink, context),
};

/** The text of the first event: `brain.Event:1`, `brain.Event:2`. */
const VERSION = 'brain.Event:';
const HEAD_BYTES = 12;

/** Never throws. */
function sniffEvents({ bytes, name }: Head): Sniff {
  const isNamed = isEventFileName(name);
  if (bytes.length >= HEAD_BYTES && fitsLength(bytes, 0)) {
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const data = bytes.subarray(HEAD_BYTES, HEAD_BYTES + length);
    const text = Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, 64)).toString('latin1');
    if (text.includes(VERSION)) {
      return {
        score: 1,
        why: 'Its first record is that of a TensorBoard event file, and the checksum of its length fits.',
      };
    }
    if (isNamed) return { score: 0.95, why: 'It is made of records with checksums, and named like an event file.' };
    return { score: 0, why: 'It is made of records with checksums, but the first is not a TensorBoard event.' };
  }
  // Damage in the first bytes: whole records may follow.
  if (isNamed)
    return { score: 0.6, why: 'It is named like a TensorBoard event file, but does not begin with a record.' };
  return { score: 0, why: 'It does not begin with a record of an event file.' };
}
