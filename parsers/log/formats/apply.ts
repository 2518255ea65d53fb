/** Running one format over text. Used by the reader, by `formats explain` and by the test of every sample. */
import type { BlockFormat, Emit, LineFormat } from './contract.js';

/** Reads every record of `format` in a line; returns how many there were. */
export function applyLine(format: LineFormat, text: string, emit: Emit): number {
  const { pattern } = format;
  pattern.lastIndex = 0;
  let count = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    count += 1;
    format.read(match.groups ?? {}, emit);
    if (match[0] === '') pattern.lastIndex += 1;
  }
  return count;
}

/**
 * Reads one block from lines of one writer, the first of which opens it; returns how many lines belong to it, 0 if it
 * does not open.
 */
export function applyBlock(format: BlockFormat, lines: readonly string[], emit: Emit): number {
  const match = format.opens.exec(lines[0] ?? '');
  if (match === null) return 0;
  const reader = format.begin(match, emit);
  let taken = 1;
  let foreign = 0;
  for (let index = 1; index < lines.length && index < format.mostLines && foreign <= format.mostForeign; index += 1) {
    const step = reader.line(lines[index]!);
    if (step === 'over') break;
    foreign = step === 'foreign' ? foreign + 1 : 0;
    if (step !== 'foreign') taken += 1;
    if (step === 'last') break;
  }
  reader.end?.();
  return taken;
}
