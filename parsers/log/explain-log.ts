import type { ByteSource } from '../../src/model/parser.js';
import type { ExplainResult, UnmatchedGroup } from '../../src/model/results/format.js';
import type { Segment } from './assembly.js';
import type { LogFormat } from './formats/contract.js';
import { readLog } from './read-log.js';

/** Units by what they measure. A rate is of bytes or of anything counted; a name that ends in a unit has it too. */
const SECONDS = 's(?:ec(?:ond)?s?)?';
const UNITS: readonly { readonly topic: string; readonly unit: string; readonly flags: string }[] = [
  {
    topic: 'throughput',
    unit: String.raw`(?:[A-Za-z]{1,16}(?:\/[A-Za-z]{1,8})?(?: ?\/ ?| per |_per_)${SECONDS}|${SECONDS}\/[A-Za-z]{2,12}|[kKMGTP]?(?:FLOPS?|flops?|FLOPs)(?:\/s)?)(?:\/[A-Za-z]{1,8})?`,
    flags: 'i',
  },
  { topic: 'memory', unit: '(?:[kKMGTP]i?[Bb]|[kmgt]i?b|[Bb]ytes?|(?:[Kk]ilo|[Mm]ega|[Gg]iga)[Bb]ytes?)', flags: '' },
  {
    topic: 'time',
    unit: `(?:[mnuµμ]s(?:ec(?:s)?)?|${SECONDS}|milliseconds?|microseconds?|min(?:ute)?s?|h(?:ou)?rs?|days?)`,
    flags: 'i',
  },
  { topic: 'share', unit: '%', flags: '' },
  { topic: 'device', unit: '(?:[mk]?W(?:atts?)?|[kMG]Hz|°C|C(?= |$|,))', flags: '' },
];
/** A number that is not a part of a word, a version or a path. */
const NUMBER = String.raw`(?<![\w.,/\\-])[-+]?\d(?:[\d,]{0,20}\d)?(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?`;
/** A figure with its unit: behind it, in brackets after its name, or at the end of its name. */
const FIGURES: readonly { readonly topic: string; readonly pattern: RegExp }[] = UNITS.map(
  ({ topic, unit, flags }) => ({
    topic,
    pattern: new RegExp(
      String.raw`${NUMBER} ?${unit}(?![\w/])|[([]${unit}[)\]]["']? ?[:=]? {0,40}[-+]?\d|_${unit}["']? ?[:=] {0,8}[-+]?\d`,
      flags,
    ),
  }),
);

/** Figures without a unit that a user may miss, by the words next to them; the first match wins. */
const TOPICS: readonly { readonly topic: string; readonly pattern: RegExp }[] = [
  {
    topic: 'failure',
    pattern: /\b(?:\w{0,40}Error|exception|failed|failure|fatal|killed|aborted|timed out|timeout|OOM|out of memory)\b/i,
  },
  { topic: 'memory', pattern: /\bmem(?:ory)?\b[^\d\n]{0,40}\d/i },
  { topic: 'throughput', pattern: /(?:TFLOP|throughput|\btps|\bwps|\bmfu)[^\d\n]{0,30}\d/i },
  { topic: 'iteration', pattern: /\b(?:iteration|iter|step|global_step)s?\b[^\d\n]{0,12}\d/i },
  { topic: 'time', pattern: /\b(?:elapsed|took)\b[^\d\n]{0,30}\d/i },
  { topic: 'parameters', pattern: /\bparam(?:eter)?s?\b[^\d\n]{0,40}\d{4}|\d ?[MB] param/i },
];
/** Shapes counted at the same time; shapes of random text are not worth listing. */
const MOST_SHAPES = 5000;
const SHAPE_CHARS = 200;
const MOST_LATELY = 8;

/** Text with digits that is not a figure; removed before a line without units is judged by its words. */
const NO_FIGURES: readonly RegExp[] = [
  // URLs, whose parts are versions and checksums.
  /\b[a-z][a-z+.-]{1,12}:\/\/[^\s'"<>]{1,2000}/gi,
  // Paths with the line behind them: a Python warning and a C++ exception begin so. `3/100` and `samples/s` are none.
  /(?<![\w./~-])(?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/][\w.@=+~-]{1,200}){2,40}[\\/]?(?::\d{1,6}\b)?/g,
  // Options of a command line: settings, of which the formats read those that count.
  /(?<![\w-])--?[A-Za-z][\w-]{1,60}(?:[ =][^\s-][^\s]{0,200})?/g,
  // Addresses, and versions of three parts and more.
  /\b0x[\da-f]{1,16}\b/gi,
  /\bv?\d{1,6}(?:\.\d{1,6}){2,4}(?:[-+][\w.]{1,40})?/g,
];
/** Digits that do not end a name, as those of `c10` and `fp16` do. */
const FIGURE = /(?<![A-Za-z_]\w{0,40})\d/;
/** The states of a progress bar are one shape. */
const BAR = /\|[█▉▊▋▌▍▎▏# ]{2,200}\|/g;
/** Lines of a stack, which belong to the failure above them. */
const STACK_LINE = /^\s{0,12}(?:frame #\d|#\d{1,3}\s{1,4}0x|File "[^"\n]{1,300}", line \d)/;

function topicOf(text: string): string | null {
  if (!/\d/.test(text) || STACK_LINE.test(text)) return null;
  for (const { topic, pattern } of FIGURES) if (pattern.test(text)) return topic;
  const bare = NO_FIGURES.reduce((remaining, pattern) => remaining.replace(pattern, ' '), text);
  if (!FIGURE.test(bare)) return null;
  for (const { topic, pattern } of TOPICS) if (pattern.test(bare)) return topic;
  return null;
}

/** Reads a log with every line decoded and counts what each format read and what none did. */
export async function explainLog(source: ByteSource, file: string, limit: number): Promise<ExplainResult> {
  const formats = new Map<string, { title: string; count: number; rows: number; first: number }>();
  const messages = new Map<string, { count: number; first: number }>();
  const shapes = new Map<string, { topic: string; count: number; line: number; text: string }>();
  let lines = 0;
  let lastLine = 0;
  let matchedLines = 0;
  let lastMatched = 0;
  let otherShapes = 0;
  let pending: Segment | null = null;
  let pendingMatched = false;
  /** Shapes of the lines last counted as unmatched: a cut line is read only when its continuations have come. */
  const lately = new Map<Segment, string>();

  const count = (id: string, title: string, line: number) => {
    const known = formats.get(id) ?? { title, count: 0, rows: 0, first: line };
    formats.set(id, known);
    return known;
  };
  const settle = (): void => {
    if (pending === null || pendingMatched || pending.mask !== 0) return;
    const topic = topicOf(pending.text);
    if (topic === null) return;
    const shape = pending.text.trim().slice(0, SHAPE_CHARS).replace(/\d+/g, 'N').replace(BAR, '|');
    const known = shapes.get(shape);
    lately.set(pending, shape);
    if (lately.size > MOST_LATELY) lately.delete(lately.keys().next().value!);
    if (known !== undefined) known.count += 1;
    else if (shapes.size < MOST_SHAPES) {
      shapes.set(shape, { topic, count: 1, line: pending.line, text: pending.text.trim().slice(0, 400) });
    } else otherShapes += 1;
  };
  const forget = (segment: Segment): void => {
    const shape = lately.get(segment);
    const known = shape === undefined ? undefined : shapes.get(shape);
    if (shape === undefined || known === undefined) return;
    lately.delete(segment);
    known.count -= 1;
    if (known.count === 0) shapes.delete(shape);
  };
  const sawLine = (line: number): void => {
    if (line === lastMatched) return;
    lastMatched = line;
    matchedLines += 1;
  };
  await readLog(source, {
    incident: ({ grammar, line }) => {
      const known = messages.get(grammar) ?? { count: 0, first: line };
      known.count += 1;
      messages.set(grammar, known);
      sawLine(line);
    },
    note: () => {},
    logRow: (_, row) => {
      count(row.format, row.format, row.line).rows += 1;
    },
    explain: {
      line(segment) {
        settle();
        pending = segment;
        pendingMatched = false;
        if (segment.line !== lastLine) lines += 1;
        lastLine = segment.line;
      },
      matched(format: LogFormat, segment) {
        const known = count(format.id, format.title, segment.line);
        known.title = format.title;
        known.count += 1;
        sawLine(segment.line);
        if (segment === pending) pendingMatched = true;
        else forget(segment);
      },
      joined(segment) {
        sawLine(segment.line);
        if (segment === pending) pendingMatched = true;
      },
    },
  });
  settle();
  const sorted = [...shapes].sort(([, a], [, b]) => b.count - a.count || a.line - b.line);
  const shown = limit === 0 ? sorted : sorted.slice(0, limit);
  const remainingShapes = sorted.slice(shown.length);
  return {
    schema: 'mbforensics/formats-explain@1',
    file,
    lines,
    matched_lines: matchedLines,
    formats: [...formats]
      .map(([id, { title, count: records, rows, first }]) => ({ id, title, count: records, rows, first_line: first }))
      .sort((a, b) => b.count - a.count || a.first_line - b.first_line),
    messages: [...messages].map(([id, { count: times, first }]) => ({ id, count: times, first_line: first })),
    unmatched: shown.map(([shape, group]): UnmatchedGroup => ({ shape, ...group })),
    unmatched_others: {
      shapes: remainingShapes.length,
      lines: remainingShapes.reduce((sum, [, group]) => sum + group.count, otherShapes),
    },
  };
}
