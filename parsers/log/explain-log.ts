import { loadData } from '../../src/knowledge/load-data.js';
import type { ByteSource } from '../../src/model/parser.js';
import type { FormatsExplainResult, UnmatchedGroup } from '../../src/model/results/format.js';
import { unwrapSource } from '../../src/text/log-container.js';
import type { Segment } from './assembly.js';
import type { LogFormat } from './formats/contract.js';
import { type LogOutput, type LogVocabulary, readLog } from './read-log.js';
import { logNotation } from './sniff.js';

interface TopicPattern {
  readonly topic: string;
  readonly pattern: string;
  readonly flags?: string;
}
const DATA = loadData('inputs/figures') as {
  readonly parts: Readonly<Record<string, string>>;
  readonly figure: string;
} & Readonly<Record<'units' | 'topics' | 'others', readonly TopicPattern[]>>;
const compiled = ({ topic, pattern, flags = '' }: TopicPattern, g = '') => ({
  topic,
  pattern: new RegExp(
    pattern.replaceAll(/%\{(\w+)\}/g, (_, part: string) => DATA.parts[part]!),
    flags + g,
  ),
});
/** A figure with its unit: behind it, in brackets after its name, or at the end of its name. */
const FIGURES = DATA.units.map((unit) =>
  compiled({ ...unit, pattern: DATA.figure.replaceAll('%{UNIT}', () => unit.pattern) }),
);
/** Figures without a unit that a user may miss, by the words next to them; the first match wins. */
const TOPICS = DATA.topics.map((topic) => compiled(topic));
/** Shapes counted at the same time; shapes of random text are not worth listing. */
const MOST_SHAPES = 5000;
const SHAPE_CHARS = 200;
const MOST_LATELY = 8;

/** Text with digits that is not a figure; removed before a line without units is judged by its words. */
const NO_FIGURES = DATA.others.map((other) => compiled(other, 'g').pattern);
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
export async function explainLog(
  source: ByteSource,
  file: string,
  limit: number,
  vocabulary?: LogVocabulary,
): Promise<FormatsExplainResult> {
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
  const output: LogOutput = {
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
  };
  const { source: log, lineOf } = await unwrapSource(source, logNotation);
  await readLog(log, output, vocabulary);
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
      .map(([id, { title, count: records, rows, first }]) => ({
        id,
        title,
        count: records,
        rows,
        first_line: lineOf(first),
      }))
      .sort((a, b) => b.count - a.count || a.first_line - b.first_line),
    messages: [...messages].map(([id, { count: times, first }]) => ({ id, count: times, first_line: lineOf(first) })),
    unmatched: shown.map(([shape, group]): UnmatchedGroup => ({ shape, ...group, line: lineOf(group.line) })),
    unmatched_others: {
      shapes: remainingShapes.length,
      lines: remainingShapes.reduce((sum, [, group]) => sum + group.count, otherShapes),
    },
  };
}
