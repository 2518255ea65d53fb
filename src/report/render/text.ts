/**
 * A document as text for a terminal or a pipe. Commands, names and numbers are never cut: what does not fit is wrapped,
 * and where a screen has a height, parts are left out whole.
 */
import {
  type Document,
  type Fact,
  type Part,
  piecesOf,
  type Section,
  type Text,
  type Tone,
} from '../document/document.js';
import { printable, wrap } from '../plain-text.js';
import { bold, cyan, green, red, screen, yellow } from '../screen.js';
import { barLines } from './bar.js';
import { cellText, plainText } from './plain.js';
import { tableLines } from './table.js';

const TONES: Readonly<Record<Tone, (line: string) => string>> = {
  good: green,
  bad: red,
  unsure: yellow,
  plain: (line) => line,
};
const STEP = '  ';

export const documentText = (document: Document): string =>
  document.isAscii === true ? asciiText(unicodeText(document)) : unicodeText(document);

const ASCII: Readonly<Record<string, string>> = {
  ...{ '·': '-', '–': '-', '—': '-', '−': '-', '…': '...', '→': '->', '≥': '>=', '≈': '~', '±': '+-' },
  ...{ '▲': '^', ' σ': ' sigma', '×': 'x', '█': '#' },
};
const asciiText = (text: string): string => text.replace(/ σ|[·–—−…→≥≈±▲×█]/g, (sign) => ASCII[sign]!);

function unicodeText(document: Document): string {
  const title = document.title === '' ? [] : wrapText(document.title, screen.width).map(bold);
  const { labels, parts } = document;
  if (labels !== undefined) return `${[...title, ...labelled(parts, labels, title.length)].join('\n')}\n`;
  const lines = partsLines(parts, 0);
  return `${[...title, ...(title.length === 0 && lines[0] === '' ? lines.slice(1) : lines)].join('\n')}\n`;
}

/** On one line, without control characters. */
const oneLine = (text: string): string => printable(text.replaceAll(/\s+/g, ' ').trim());

/** A number and its unit, and a command between backticks, stay on one line where they fit. */
export function wrapText(text: Text, width: number, indent = ''): string[] {
  const kept = oneLine(plainText(text)).replaceAll(/(\d) (?=(?:[KMGTP]iB|bytes|ms|s|%)(?![a-z]))/g, '$1\u00a0');
  return wrap(kept, width, indent).map((line) => line.replaceAll('\u00a0', ' ').trimEnd());
}

// ---- parts below each other

/** `depth`: sections around them. The parts of the outermost are not indented. */
function partsLines(parts: readonly Part[], depth: number): string[] {
  return parts.flatMap((part, i) => {
    const lines = part.type === 'section' ? sectionLines(part, depth) : ownLines(part, screen.width);
    const needsSpace = part.type !== 'paragraph' && part.type !== 'items' && part.type !== 'facts';
    const isFirst = i === 0 && (part.type !== 'section' || depth > 0);
    return lines.length > 0 && !isFirst && (needsSpace || parts[i - 1]?.type === 'section') ? ['', ...lines] : lines;
  });
}

function sectionLines({ title, about, parts }: Section, depth: number): string[] {
  const indent = depth === 0 ? '' : STEP;
  const inner = screen.width;
  screen.width = inner - indent.length;
  try {
    const intro = about === undefined || about === null ? [] : wrapText(about, screen.width);
    const body = [...intro, ...partsLines(parts, depth + 1)];
    return [...wrapText(title, inner).map(bold), ...body.map((line) => (line === '' ? '' : `${indent}${line}`))];
  } finally {
    screen.width = inner;
  }
}

function ownLines(part: Exclude<Part, Section>, width: number): string[] {
  switch (part.type) {
    case 'facts':
      return factLines(part.facts, width);
    case 'table': {
      const caption = part.caption === null ? [] : wrapText(part.caption, width);
      return [...caption, ...tableLines(part, width), ...part.notes.flatMap((text) => wrapText(text, width, STEP))];
    }
    case 'paragraph': {
      const lines = wrapText(part.text, width, part.style === 'lead' ? '' : STEP);
      const tone = TONES[part.tone ?? 'plain'];
      return part.style === 'lead' ? lines.map((line) => bold(tone(line))) : lines.map(tone);
    }
    case 'items':
      return part.items.flatMap((item, i) => {
        const sign = part.isOrdered === true ? `${i + 1}. ` : '- ';
        return wrapText([sign, ...piecesOf(item)], width, ' '.repeat(sign.length));
      });
    case 'lines': {
      const lines = part.lines.map((line) => printable(line.replaceAll('\t', '  ')).trimEnd());
      return part.isPasted ? lines.map(cyan) : lines;
    }
    case 'bar':
      return barLines(part, width);
    case 'drawing':
      return [...(part.lines?.(width) ?? [])];
  }
}

/** `title   value`, values below each other. */
function factLines(facts: readonly Fact[], width: number): string[] {
  const label =
    Math.min(
      24,
      facts.reduce((most, { title }) => Math.max(most, title.length), 0),
    ) + 2;
  return facts.flatMap(({ title, value, unit }) =>
    wrapText(`${oneLine(title)}`, width).flatMap((name) => {
      const lines = wrapText(cellText(value, { unit }), width - label);
      return lines.map((line, i) => `${(i === 0 ? name : '').padEnd(label)}${line}`);
    }),
  );
}

// ---- titles as labels, within a height

interface Shown {
  readonly keep: number;
  readonly lines: readonly string[];
}

/** Sections with their titles in a column on the left. */
function labelled(parts: readonly Part[], { width, height }: NonNullable<Document['labels']>, taken: number): string[] {
  const sections = parts.map((part) => {
    const inner = part.type === 'section' ? part.parts : [part];
    const shown: Shown[] = inner.map((part) => ({
      keep: part.keep ?? 0,
      lines: labelledLines(part, screen.width - width),
    }));
    return { label: part.type === 'section' ? plainText(part.title) : '', shown };
  });
  const all = sections.flatMap(({ shown }) => shown).filter(({ lines }) => lines.length > 0);
  let total = taken + all.reduce((sum, { lines }) => sum + lines.length, 0);
  const left = new Set<Shown>();
  // Of equal ones the last goes first.
  for (const shown of all.toReversed().toSorted((a, b) => b.keep - a.keep)) {
    if (total <= height || shown.keep === 0) break;
    left.add(shown);
    total -= shown.lines.length;
  }
  return sections.flatMap(({ label, shown }) =>
    shown
      .filter((part) => !left.has(part))
      .flatMap(({ lines }) => lines)
      .map((line, i) => `${i === 0 ? bold(label.padEnd(width)) : ' '.repeat(width)}${line}`.trimEnd()),
  );
}

/** Items without the signs of a list. */
function labelledLines(part: Part, width: number): readonly string[] {
  if (part.type === 'items') return part.items.flatMap((text) => wrapText(text, width));
  return part.type === 'section' ? part.parts.flatMap((inner) => labelledLines(inner, width)) : ownLines(part, width);
}
