/** Every figure of a document is the same in text, Markdown, HTML and JSON, whatever the document is about. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DiagnoseResult, PeakResult } from '../../src/model/results/common.js';
import { compareDocument } from '../../src/report/compare/compare-document.js';
import {
  type Cell,
  type Document,
  type Part,
  paragraph,
  piecesOf,
  type Text,
} from '../../src/report/document/document.js';
import { formatValue, type Unit } from '../../src/report/document/values.js';
import { attributeDocument } from '../../src/report/moment/attribute-document.js';
import { peakDocument } from '../../src/report/moment/peak-document.js';
import { stateDocument } from '../../src/report/moment/state-document.js';
import { partsHtml } from '../../src/report/render/html.js';
import { documentJson } from '../../src/report/render/json.js';
import { documentMarkdown } from '../../src/report/render/markdown.js';
import { documentText } from '../../src/report/render/text.js';
import { logDocument } from '../../src/report/run/log-document.js';
import { memoryDocument } from '../../src/report/run/memory-document.js';
import { nsysDocument } from '../../src/report/run/nsys-document.js';
import { adviseDocument } from '../../src/report/start/advise-document.js';
import { diagnoseDocument } from '../../src/report/start/diagnose-document.js';
import { lakeAddDocument, lakeAskDocument } from '../../src/report/store/lake-document.js';
import {
  lakeCheckDocument,
  lakeCompactDocument,
  lakeExpireDocument,
} from '../../src/report/store/lake-keep-document.js';
import { estimateDocument } from '../../src/report/what-if/estimate-document.js';
import { whatIfDocument } from '../../src/report/what-if/what-if-document.js';
import { asker } from '../support/ask.js';
import { samplePath, sampleStore } from '../support/stores.js';

const { json, cwd } = asker();
const LAKE = join(cwd, 'lake');

interface Shown {
  readonly value: number;
  readonly printed: string;
  /** Whether JSON has it: it has a name. */
  readonly isField: boolean;
}

const ofText = (text: Text, isField: boolean): Shown[] =>
  piecesOf(text).flatMap((piece) =>
    typeof piece === 'object' && 'value' in piece && piece.value !== null
      ? [
          {
            value: piece.value,
            printed: piece.text ?? formatValue(piece.value, piece.unit),
            isField: isField || piece.key !== undefined,
          },
        ]
      : [],
  );

function ofCell(cell: Cell, unit: Unit | null, isField: boolean): Shown[] {
  if (typeof cell === 'number') return [{ value: cell, printed: formatValue(cell, unit), isField }];
  if (cell === null || typeof cell !== 'object') return [];
  const figures = ofText(cell as Text, false);
  return figures.length === 1 ? figures.map((one) => ({ ...one, isField })) : figures;
}

/** All figures that the document holds. */
function figuresOf(part: Part): Shown[] {
  switch (part.type) {
    case 'section':
      return [...ofText(part.title, false), ...part.parts.flatMap(figuresOf)];
    case 'facts':
      return part.facts.flatMap(({ value, unit }) => ofCell(value, unit, true));
    case 'paragraph':
      return ofText(part.text, false);
    case 'items':
      return part.items.flatMap((text) => ofText(text, false));
    case 'table': {
      const { columns, rows, key } = part;
      const cells = rows.flatMap(({ cells: row, under }) => [
        ...row.flatMap((cell, i) => ofCell(cell, columns[i]!.unit, key !== undefined)),
        ...under.flatMap((text) => ofText(text, false)),
      ]);
      return [...cells, ...part.notes.flatMap((text) => ofText(text, false))];
    }
    case 'bar':
      return [part.total, ...part.parts.map(({ bytes }) => bytes)].map((value) => ({
        ...{ value, printed: formatValue(value, 'bytes'), isField: true },
      }));
    default:
      return [];
  }
}

function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  if (Array.isArray(value)) return value.flatMap(numbersIn);
  return value === null || typeof value !== 'object' ? [] : Object.values(value).flatMap(numbersIn);
}

/** Without what a renderer adds: line breaks of wrapping, signs of Markdown, tags. */
const plain = (text: string): string =>
  text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\\(?=[^\w\s])/g, '')
    .replaceAll('&#36;', '$')
    .replaceAll(/\s+/g, ' ');

const PAGE_LABELS = { height: Number.POSITIVE_INFINITY };

function expectEqual(document: Document, markdown = documentMarkdown): void {
  // A first screen leaves out what does not fit; here all of it is printed.
  const unlimited =
    document.labels === undefined ? document : { ...document, labels: { ...document.labels, ...PAGE_LABELS } };
  const figures = [...ofText(document.title, false), ...document.parts.flatMap(figuresOf)];
  expect(figures.length).toBeGreaterThan(4);
  const forms = {
    text: plain(documentText(unlimited)),
    markdown: plain(markdown(document)),
    html: plain(
      [paragraph(document.title), ...document.parts]
        .map((part) => partsHtml([part]))
        .flat(9)
        .join(''),
    ),
  };
  const numbers = new Set(numbersIn(documentJson(document)));
  for (const { value, printed, isField } of figures) {
    for (const [form, text] of Object.entries(forms))
      if (!text.includes(printed)) throw new Error(`${form} lacks ${printed} of ${document.schema}`);
    if (isField) expect(numbers, `JSON of ${document.schema} lacks ${value}`).toContain(value);
  }
}

const frag = samplePath('llama3-70b-fragmentation');

const DOCUMENTS: Readonly<Record<string, () => Document>> = {
  'diagnose, fragmentation': () => diagnoseDocument(json<DiagnoseResult>('diagnose', frag), { full: true }),
  'diagnose, capacity': () =>
    diagnoseDocument(json<DiagnoseResult>('diagnose', samplePath('capacity')), { full: true }),
  'diagnose, another process': () => diagnoseDocument(json<DiagnoseResult>('diagnose', samplePath('other-process'))),
  peak: () => peakDocument(json<PeakResult>('peak', frag), { isWhole: false }),
  'peak with the figures of peers': () =>
    peakDocument(json<PeakResult>('peak', frag, '--grouping', 'bridge', '--limit', '3'), { isWhole: true }),
  attribute: () => attributeDocument(json('attribute', frag)),
  state: () => stateDocument(json('state', frag)),
  log: () => logDocument(json('log', frag)),
  'log memory': () => memoryDocument(json('log', 'memory', samplePath('leak'))),
  whatif: () => whatIfDocument(json('whatif', frag, '--set', 'expandable_segments:True')),
  estimate: () => estimateDocument(json('estimate', '--db', sampleStore('capacity'), '--model', 'megatron-lm')),
  advise: () => adviseDocument(json('advise', frag), { paste: ['megatron_bridge'] }),
  compare: () =>
    compareDocument(json('compare', samplePath('llama3-70b-tp8'), '--golden', frag, '--allow-change', 'layout')),
  // Each of them makes, or changes, what the next one is about.
  'lake add': () => lakeAddDocument(json('lake', 'add', frag, '--to', LAKE, '--events')),
  'lake ask': () => lakeAskDocument(json('lake', 'ask', 'peaks', '--lake', LAKE)),
  'lake check': () => lakeCheckDocument(json('lake', 'check', LAKE)),
  'lake expire': () => lakeExpireDocument(json('lake', 'expire', LAKE, '--level', 'events', '--older-than', '0d')),
  'lake compact': () => lakeCompactDocument(json('lake', 'compact', LAKE)),
  nsys: () => nsysDocument(json('nsys', samplePath('nccl-outside')), { limit: Number.POSITIVE_INFINITY }),
};

describe('the four forms of a document', () => {
  for (const [name, of] of Object.entries(DOCUMENTS)) it(`have the same figures: ${name}`, () => expectEqual(of()));

  it('would differ where a renderer left a figure out', () => {
    const without = (document: Document): string => documentMarkdown(document).replaceAll(/\d+\.\d\d GiB/g, '');
    expect(() => expectEqual(DOCUMENTS['diagnose, another process']!(), without)).toThrow(/markdown lacks/);
  });
});
