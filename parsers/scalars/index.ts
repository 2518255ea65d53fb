import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext, ParserSpec, ParseSummary, RowSink } from '../../src/model/parser.js';
import { HEAD_BYTES, precededBy, readHead } from '../../src/text/stream-head.js';
import { recogniseScalars, sniffScalars } from './sniff.js';

/** Scalars that were exported from a tracker, or written as a table by a trainer. See FORMAT.md. */
export const exportedScalars: ParserSpec = {
  id: 'scalars',
  title: 'scalars of TensorBoard, W&B, MLflow or a trainer as CSV or JSON',
  sniff: sniffScalars,
  parse,
};

async function parse(given: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const head = await readHead(given);
  const source = precededBy(head, given);
  const sizeBytes = given.sizeBytes ?? (head.length < HEAD_BYTES ? head.length : Number.POSITIVE_INFINITY);
  const recognised = recogniseScalars({ bytes: head, name: context.name, sizeBytes });
  switch (recognised?.kind) {
    case 'table':
      // With the first table: the library is not needed before.
      await (await import('./read-table.js')).readTable(source, sink, context);
      break;
    case 'trainer-state':
    case 'tensorboard':
      await (await import('./read-json.js')).readJson(recognised.kind, source, sink, context);
      break;
    case 'json-lines':
      await (await import('./read-lines.js')).readJsonLines(source, sink, context);
      break;
    case 'mlflow':
      await (await import('./read-lines.js')).readMetricFile(source, sink, context);
      break;
    default:
      throw new MbfError('MBF2921', 'has no header and no first row of exported scalars', { offset: 0 });
  }
  return { rank: null, rankOrigin: null, clock: 'utc' };
}
