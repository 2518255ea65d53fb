/**
 * A document as text for a terminal or a pipe. Commands, names and numbers are never cut: what does not fit is wrapped,
 * and where a screen has a height, parts are left out whole.
 */
import {
  type Document,
  type Fact,
  joined,
  NEXT_ITEM,
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
import { tableLines, tableRows, wrapName } from './table.js';

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
  if (document.each !== undefined) return document.each.documents.map(unicodeText).join('\n');
  const title = document.title === '' ? [] : wrapText(document.title, screen.width).map(bold);
  const { labels, parts } = document;
  if (labels !== undefined) return `${[...title, ...labelled(parts, labels, title.length)].join('\n')}\n`;
  const lines = partsLines(parts, 0, screen.width);
  return `${[...title, ...(title.length === 0 && lines[0] === '' ? lines.slice(1) : lines)].join('\n')}\n`;
}

/** On one line, without control characters. */
const oneLine = (text: string): string => printable(text.replaceAll(/\s+/g, ' ').trim());

/** A number and its unit, and a command between backticks, stay on one line where they fit. */
export function wrapText(text: Text, width: number, indent = ''): string[] {
  const kept = oneLine(plainText(text)).replaceAll(/(\d) (?=(?:[KMGTP]iB|bytes|ms|s|%)(?![a-z]))/g, '$1\u00a0');
  return wrap(kept, width, indent)
    .flatMap((line) => (line.length <= width ? [line] : wrapName(line, width)))
    .map((line) => line.replaceAll('\u00a0', ' ').trimEnd());
}

// ---- parts below each other

/** `depth`: sections around them. The parts of the outermost are not indented. */
function partsLines(parts: readonly Part[], depth: number, width: number): string[] {
  return parts.flatMap((part, i) => {
    const lines = part.type === 'section' ? sectionLines(part, depth, width) : ownLines(part, width);
    const needsSpace = part.type !== 'paragraph' && part.type !== 'items' && part.type !== 'facts';
    const isFirst = i === 0 && (part.type !== 'section' || depth > 0);
    return lines.length > 0 && !isFirst && (needsSpace || parts[i - 1]?.type === 'section') ? ['', ...lines] : lines;
  });
}

function sectionLines({ title, about, parts }: Section, depth: number, width: number): string[] {
  const indent = depth === 0 ? '' : STEP;
  const inner = width - indent.length;
  const intro = about === undefined || about === null ? [] : wrapText(about, inner);
  const body = [...intro, ...partsLines(parts, depth + 1, inner)];
  return [...wrapText(title, width).map(bold), ...body.map((line) => (line === '' ? '' : `${indent}${line}`))];
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

/** Labels of the details are this wide. */
const DETAIL_LABEL = 14;

/** Sections with their titles in a column on the left, then all details. */
function labelled(parts: readonly Part[], look: NonNullable<Document['labels']>, taken: number): string[] {
  const isBelow = (part: Part): part is Section => part.type === 'section' && part.isBelow === true;
  return [
    ...labelledSections(
      parts.filter((part) => !isBelow(part)),
      { ...look, height: look.height - taken },
    ),
    ...parts
      .filter(isBelow)
      .flatMap(({ about, parts: details }) => [
        '',
        ...(about === undefined || about === null ? [] : wrapText(about, screen.width)),
        ...labelledSections(details, { width: DETAIL_LABEL, height: Number.POSITIVE_INFINITY }),
      ]),
  ];
}

function labelledSections(parts: readonly Part[], look: NonNullable<Document['labels']>): string[] {
  const { width, height } = look;
  const sections = parts.map((part) => ({
    label: part.type === 'section' ? plainText(part.title) : '',
    shown: unitsOf(
      look.isRunIn === true ? runIn(part) : part,
      screen.width - width,
      height === Number.POSITIVE_INFINITY,
    ),
  }));
  const all = sections.flatMap(({ shown }) => shown);
  let total = all.reduce((sum, { keep, lines }) => sum + (keep === 0 ? lines.length : 0), 0);
  const isShown = new Set(all.filter(({ keep }) => keep === 0));
  for (const unit of all.filter(({ keep }) => keep > 0).toSorted((a, b) => a.keep - b.keep)) {
    if (total + unit.lines.length > height) continue;
    isShown.add(unit);
    total += unit.lines.length;
  }
  return sections.flatMap(({ label, shown }) => {
    const lines = shown.filter((unit) => isShown.has(unit)).flatMap((unit) => unit.lines);
    // A long label has a line of its own.
    const isOwn = label.length >= width && lines.length > 0;
    return [
      ...(isOwn ? [bold(label)] : []),
      ...lines.map((line, i) =>
        `${i === 0 && !isOwn ? bold(label.padEnd(width)) : ' '.repeat(width)}${line}`.trimEnd(),
      ),
    ];
  });
}

/** The first screen does not show handles. */
const unhandled = (text: Text): Text =>
  piecesOf(text).filter((piece) => typeof piece === 'string' || !('handle' in piece));

/** What follows an answer goes on in its line. */
function runIn(part: Part): Part {
  if (part.type !== 'section') return part;
  const [lead, list, ...others] = part.parts;
  if (lead?.type !== 'paragraph' || lead.style !== 'lead' || list?.type !== 'items') return part;
  const text = joined([lead.text, ...list.items], '; ');
  return { ...part, parts: [{ ...lead, text }, ...others] };
}

/** What is shown whole or not at all. */
function unitsOf(part: Part, width: number, isBelow: boolean): Shown[] {
  const { keep = 0 } = part;
  const keepOf = (i: number): number => (keep === 0 ? 0 : keep + NEXT_ITEM * i);
  if (part.type === 'section') return part.parts.flatMap((inner) => unitsOf(inner, width, isBelow));
  if (part.type === 'paragraph' && part.style !== 'lead') return [{ keep, lines: wrapText(part.text, width) }];
  if (part.type === 'items')
    return part.items.map((text, i) => ({ keep: keepOf(i), lines: wrapText(isBelow ? text : unhandled(text), width) }));
  if (part.type === 'table' && part.isBare === true && keep > 0)
    return tableRows(part, width).map((lines, i) => ({ keep: keepOf(i), lines }));
  return [{ keep, lines: ownLines(part, width) }];
}
