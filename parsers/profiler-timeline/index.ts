/** Memory timelines of torch.profiler: what `prof.export_memory_timeline()` writes as JSON. See FORMAT.md. */
import { jsonParser } from 'stream-json/core/parser.js';
import { MbfError } from '../../src/model/errors.js';
import type {
  ByteSource,
  Head,
  ParseContext,
  ParserSpec,
  ParseSummary,
  RowSink,
  Sniff,
} from '../../src/model/parser.js';
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

const NAME = /(?:^|[._-])(?:raw|mem(?:ory)?|timeline)(?=[._-])[^/]*\.json$/i;

/** `[timestamp, action 1-4, bytes, category 0-7]` first in a list, and the next event or the end behind it. */
const RAW =
  /^\s{0,64}\[\s{0,8}\[\s{0,8}(?:-1|\d{1,19}),\s{0,8}[1-4],\s{0,8}-?\d{1,16},\s{0,8}[0-7]\s{0,8}\]\s{0,8}(?:,\s{0,8}\[\s{0,8}-?\d|\]\s{0,64}$)/;
const LISTS = /^\s{0,64}\[\s{0,8}\[\s{0,8}-?\d/;
/** Follows the times: the first row of sums, which begins with a 0 for the plot's baseline. */
const SUMS = /^\]\s{0,8},\s{0,8}\[\s{0,8}\[\s{0,8}0\s{0,8},/;
const EMPTY = /^\s{0,64}\[\s{0,8}(?:\[\s{0,8}\]\s{0,8},\s{0,8}\[\s{0,8}\]\s{0,8})?\]\s{0,64}$/;
/** 2001 in microseconds: what a list of times begins with. */
const LEAST_EPOCH_US = 1e15;

/**
 * Both forms are lists of lists of numbers, nothing else; that alone is any JSON of arrays, so the first event, or the
 * step from the times to the sums, decides. Never throws.
 */
function sniffTimeline(head: Head): Sniff {
  const { bytes, name } = head;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (RAW.test(text))
    return { score: 0.97, why: 'JSON events of torch.profiler: [timestamp, action, bytes, category]' };
  if (EMPTY.test(text) && NAME.test(name)) {
    return { score: 0.6, why: 'an empty list, named like a memory timeline of torch.profiler' };
  }
  if (!LISTS.test(text)) return { score: 0, why: 'no list of lists of numbers' };
  const end = text.indexOf(']');
  if (end >= 0) {
    return SUMS.test(text.slice(end, end + 64))
      ? { score: 0.97, why: 'JSON of torch.profiler: [times, [sums by category]]' }
      : { score: 0.05, why: 'lists of numbers that are not a memory timeline of torch.profiler' };
  }
  // More points in time than the head holds.
  const times = text
    .slice(text.lastIndexOf('[') + 1, text.lastIndexOf(','))
    .split(',', 100)
    .map(Number);
  const ordered = times.every((time, i) => time >= LEAST_EPOCH_US && (i === 0 || time >= times[i - 1]!));
  return ordered
    ? { score: 0.9, why: 'a list of lists that begins with times in order, as those of torch.profiler do' }
    : { score: 0.05, why: 'a long list of numbers that are not ordered times' };
}
