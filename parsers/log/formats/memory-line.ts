import { leadingNumber, readOpenList } from './field-list.js';

/** The `[Rank 3] (after 10 iterations) memory (MB) |` in front of a memory line's figures. */
export interface MemoryHead {
  readonly rank?: number | undefined;
  readonly iteration?: number | undefined;
  readonly moment: string;
}

const SAVE = /\b(before|after) (save_checkpoint) for iteration (\d{1,12})/;
const AFTER = 'after ';

/** The words between rank and unit: `(after 10 iterations) `, `(before save_checkpoint for iteration 500) `. */
export function memoryHead(rankText: string | undefined, name: string): MemoryHead {
  const rank = rankText === undefined ? undefined : Number(rankText);
  // By hand: a pattern costs more than all the figures of the line.
  const start = name.indexOf(AFTER);
  const end = start < 0 ? -1 : name.indexOf(' iterations', start);
  const iteration = end < 0 ? Number.NaN : Number(name.slice(start + AFTER.length, end));
  if (Number.isSafeInteger(iteration)) return { rank, iteration, moment: 'after iteration' };
  const save = SAVE.exec(name);
  if (save !== null) return { rank, iteration: Number(save[3]), moment: `${save[1]} ${save[2]}` };
  return { rank, iteration: undefined, moment: name.replaceAll(/[()]/g, '').trim() };
}

/** Figures of a memory line, as printed. */
export function memoryFigures(rest: string): { readonly key: string; readonly text: string }[] {
  const figures: { key: string; text: string }[] = [];
  readOpenList(rest, (key, text) => {
    if (Number.isFinite(Number(text))) figures.push({ key, text });
  });
  return figures;
}

/** Whether the line stops before its last figure: `… | max reser`, `… | max reserved: 233.`. */
export function memoryLineIsCut(text: string, mark: string): boolean {
  const at = text.lastIndexOf(mark);
  if (at < 0) return false;
  const last = text.slice(Math.max(text.lastIndexOf('|') + 1, at + mark.length)).trim();
  const colon = last.indexOf(':');
  if (last.length > 120) return false;
  if (colon < 0) return /^[a-z][a-z -]{0,60}$/.test(last) || last === '';
  const value = last.slice(colon + 1).trim();
  return value === '' || (leadingNumber(value).end === value.length && value.endsWith('.'));
}
