/**
 * A document as fields: what the screen shows, with exact numbers. Keyed pieces of texts and keyed parts are fields of
 * the object of their section; a table is an array of objects, a section that is one of several an element of an array.
 * Texts without any field are in `notes`. Pure.
 */
import {
  type Cell,
  type Document,
  type Part,
  type Piece,
  piecesOf,
  type Table,
  type Text,
} from '../document/document.js';
import { unitOf } from '../document/values.js';
import { plainText } from './plain.js';

type Fields = Record<string, unknown>;

export function documentJson({ schema, title, fields: extra, each, parts }: Document): Fields {
  const fields: Fields = { schema: shortSchema(schema), ...extra };
  if (each !== undefined) fields[each.key] = each.documents.map(documentJson);
  addText(fields, title);
  for (const part of parts) addPart(fields, part);
  return fields;
}

/** A short document is another than the whole result. */
export const shortSchema = (schema: string): string => schema.replace('@', '-short@');

function addPart(fields: Fields, part: Part): void {
  switch (part.type) {
    case 'section':
    case 'facts': {
      const target: Fields = part.key === undefined ? fields : {};
      if (part.type === 'facts') for (const { key, value } of part.facts) put(target, key, cellJson(value));
      else {
        for (const [name, value] of Object.entries(part.fields ?? {})) put(target, name, value);
        addText(target, part.title);
        for (const inner of part.parts) addPart(target, inner);
      }
      if (part.key !== undefined) put(fields, part.key, target, part.type === 'section' && part.isOneOf === true);
      return;
    }
    case 'paragraph':
    case 'items': {
      const texts = part.type === 'items' ? part.items : [part.text];
      const hasFields = texts.map((text) => addText(fields, text));
      if (part.key !== undefined)
        put(fields, part.key, part.type === 'items' ? texts.map(itemJson) : plainText(texts[0]!));
      else for (const [i, text] of texts.entries()) if (!hasFields[i]) put(fields, 'notes', plainText(text), true);
      return;
    }
    case 'lines':
      if (part.key !== undefined) put(fields, part.key, part.lines);
      return;
    case 'bar':
      put(fields, part.key ?? 'memory', { total_bytes: part.total, when: part.when, parts: part.parts });
      return;
    case 'table':
      if (part.key !== undefined) put(fields, part.key, rowsOf(part));
      return;
    case 'drawing':
      return;
  }
}

/** A statement of evidence with its handle. */
function itemJson(text: Text): unknown {
  const pieces = piecesOf(text);
  const handle = pieces.find((piece) => typeof piece === 'object' && 'handle' in piece);
  if (handle === undefined) return plainText(text);
  const words = plainText(pieces.filter((piece) => piece !== handle)).trim();
  return { text: words, evidence: (handle as { handle: string }).handle };
}

/** Whether the text has a field. */
function addText(fields: Fields, text: Text): boolean {
  const keyed = piecesOf(text).filter((piece) => typeof piece === 'object' && piece.key !== undefined);
  for (const piece of keyed) put(fields, (piece as Exclude<Piece, string>).key!, pieceJson(piece));
  return keyed.length > 0;
}

/** Two parts of one name would hide each other. */
function put(fields: Fields, key: string, value: unknown, isOneOf = false): void {
  if (isOneOf) fields[key] = [...((fields[key] as unknown[]) ?? []), value];
  else if (key in fields) throw new Error(`two parts of a document are called ${key}`);
  else fields[key] = value;
}

function rowsOf({ columns, rows }: Table): Fields[] {
  return rows.map(({ cells, under, kind, fields }) => ({
    ...Object.fromEntries(columns.map(({ key }, i) => [key, figureJson(key, cells[i] ?? null)])),
    ...(under.length === 0 ? {} : { under: under.map(plainText) }),
    ...(kind === undefined ? {} : { kind }),
    ...fields,
  }));
}

/** A column of a unit has numbers alone: of several figures the first, of words none. */
function figureJson(key: string, cell: Cell): unknown {
  const value = cellJson(cell);
  if (unitOf(key) === null || typeof value !== 'string') return value;
  return (
    piecesOf(cell as Text).flatMap((piece) =>
      typeof piece === 'object' && 'value' in piece ? [piece.value] : [],
    )[0] ?? null
  );
}

/** A cell that is one name or word, or that has one figure, is its value; keyed pieces make an object. */
function cellJson(cell: Cell): unknown {
  if (cell === null || typeof cell !== 'object') return cell;
  const keyed: Fields = {};
  if (addText(keyed, cell as Text)) return keyed;
  const pieces = piecesOf(cell as Text);
  const [figure, ...more] = pieces.filter((piece) => typeof piece === 'object' && 'value' in piece);
  if (figure !== undefined && more.length === 0) return pieceJson(figure);
  return pieces.length === 1 ? pieceJson(pieces[0]!) : plainText(cell as Text);
}

const pieceJson = (piece: Piece): unknown =>
  typeof piece === 'object' && 'value' in piece
    ? piece.value
    : plainText(typeof piece === 'object' && 'handle' in piece ? piece.handle : piece);
