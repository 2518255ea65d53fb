/** Sentences of screens: templates of `src/knowledge/words` as pieces, whose figures every form of a document has. */
import { as, code, count, type Fact, fact, type Piece, piecesOf, type Text } from '../document/document.js';
import { isUnit, unitOf } from '../document/values.js';
import {
  FIGURE,
  type Filling,
  figureOf,
  figuresOf,
  figureText,
  figureValue,
  resolved,
  wordsOf,
  wordTable,
} from './fill.js';

const PARTS = /(\{[^{}]{1,120}\})/;

/** The notation is in `fill.ts`. */
function filled(template: string, figures: Filling): Text {
  const pieces = resolved(template, figures)
    .split(PARTS)
    .flatMap((part): readonly Piece[] => {
      const [match] = part.matchAll(FIGURE);
      if (match === undefined) return part === '' ? [] : [part];
      const [, field, name, form, option] = match;
      const [first = '', ...more] = piecesOfFigure(name!, form, option, figures);
      return [part.startsWith('{@') ? as(field ?? name!.replace(/^.*\./, ''), first) : first, ...more];
    });
  return pieces.every((piece) => typeof piece === 'string') ? pieces.join('') : pieces;
}

function piecesOfFigure(
  name: string,
  form: string | undefined,
  option: string | undefined,
  figures: Filling,
): readonly Piece[] {
  const text = figures.texts?.[name];
  if (text !== undefined) return piecesOf(text);
  const unit = form !== undefined && isUnit(form) ? form : unitOf(name);
  if (unit !== null && figureOf(figures, name) === undefined && /^[\w.]+$/.test(name)) return [{ value: null, unit }];
  const value = figureValue(name, figures);
  if (form === 'code') return [code(String(value))];
  if (typeof value === 'number' && form === 'counted') {
    const [one, many = `${one}s`] = option!.split('/');
    return [count(value), ` ${value === 1 ? one : many}`];
  }
  if (typeof value === 'number' && (form === undefined || isUnit(form))) return [{ value, unit: unit ?? 'count' }];
  return [figureText(name, form, option, figures)];
}

/** Of all records; fields of a record inside one too. */
function filling(records: readonly object[]): Filling {
  const all = records.flatMap((record) => Object.entries(record) as [string, unknown][]);
  const inner = all.flatMap(([key, value]) =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? []
      : Object.entries(value as object).map(([name, one]) => [`${key}.${name}`, one] as const),
  );
  return figuresOf(Object.fromEntries([...all, ...inner]));
}

/** The sentence of a code, of the figures of all records; null and false are not there. */
export const textMaker =
  (topic: string, table: string) =>
  (code: string, ...records: readonly object[]): Text =>
    filled(wordsOf(wordTable(topic, table), code), filling(records));

/** The sentences of a table that have words, by code, in its order. */
function filledTexts(
  topic: string,
  table: string,
  records: readonly object[],
): (readonly [code: string, text: Text])[] {
  const figures = filling(records);
  return Object.entries(wordTable(topic, table)).flatMap(([code, template]) => {
    const text = filled(template, figures);
    return text === '' ? [] : [[code, text] as const];
  });
}

export const allTexts = (topic: string, table: string, ...records: readonly object[]): Text[] =>
  filledTexts(topic, table, records).map(([, text]) => text);

/** A fact for each sentence; its title is behind its key where it is another: `failed_request failed`. */
export const factsOf = (topic: string, table: string, ...records: readonly object[]): (Fact | null)[] =>
  filledTexts(topic, table, records).map(([code, text]) => {
    const [key = '', ...title] = code.split(' ');
    return fact(key, text, title.length === 0 ? {} : { title: title.join(' ') });
  });
