/** Memory timelines of torch.profiler: what `prof.export_memory_timeline()` writes as JSON. See FORMAT.md. */
import { jsonParser } from 'stream-json/core/parser.js';
import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext, ParserSpec, ParseSummary, RowSink } from '../../src/model/parser.js';
import { sniffTimeline } from './sniff.js';
import { TimelineReader } from './timeline-reader.js';

const CHUNK_BYTES = 65_536;
/** Lists of whole numbers need nothing else; the first other character is where the damage is. */
const FOREIGN = /[^\d\s,[\]-]/;
const SEPARATOR = /[,[\]]/;
/** Bytes without one, at most: the tokenizer keeps a number until it ends, and a file may consist of one. */
const MOST_SILENT_BYTES = CHUNK_BYTES;

export const profilerTimeline: ParserSpec = {
  id: 'profiler-timeline',
  title: 'memory timeline of torch.profiler (JSON)',
  sniff: sniffTimeline,
  parse,
};

async function parse(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const reader = new TimelineReader((batch) => sink.profilerMemory(batch));
  const tokens = jsonParser({ packValues: true, streamValues: false });
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let at = 0;
  let silent = 0;
  for (;;) {
    const count = await source.read(buffer, 0);
    if (count === 0) break;
    const text = buffer.toString('latin1', 0, count);
    const foreign = FOREIGN.exec(text);
    if (foreign !== null) {
      const offset = at + foreign.index;
      throw new MbfError('MBF2401', `${JSON.stringify(foreign[0])} is not valid in a list of integers`, { offset });
    }
    silent = SEPARATOR.test(text) ? 0 : silent + count;
    if (silent > MOST_SILENT_BYTES) {
      throw new MbfError('MBF2402', `more than ${MOST_SILENT_BYTES} bytes of one number or of blanks`, { offset: at });
    }
    feed(reader, () => tokens(text), at);
    at += count;
    context.progress?.(at);
  }
  for (const note of reader.finish()) sink.note(note);
  return { rank: null, rankOrigin: null };
}

type Tokens = ReturnType<ReturnType<typeof jsonParser>>;

function feed(reader: TimelineReader, tokenize: () => Tokens, offset: number): void {
  let made: Tokens;
  try {
    made = tokenize();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const fact = `no valid JSON in the ${CHUNK_BYTES} bytes from there on: ${reason}`;
    throw new MbfError('MBF2401', fact, { offset }, error);
  }
  if (typeof made !== 'object' || !('values' in made)) return;
  for (const token of made.values) {
    if (token.name === 'numberValue') reader.number(token.value);
    else if (token.name === 'startArray') reader.start();
    else if (token.name === 'endArray') reader.stop();
  }
}
