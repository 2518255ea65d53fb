import type { ParserSpec } from '../../src/model/parser.js';
import { sniffEvents } from './sniff.js';

/** TensorBoard event files (`events.out.tfevents.*`). See FORMAT.md. */
export const tensorboardEvents: ParserSpec = {
  id: 'tensorboard',
  title: 'TensorBoard event file',
  sniff: sniffEvents,
  // With the first file that is one.
  parse: async (source, sink, context) => (await import('./read-events.js')).readEventFile(source, sink, context),
};
