/** A screen from its lines. */
import { WIDTH } from './text-pieces.js';

/** `wrap` breaks at blanks alone: a word longer than the screen, as hostile names are, is cut here. */
export function screenText(lines: readonly string[]): string {
  return `${lines.map((line) => (line.length <= WIDTH ? line.trimEnd() : `${line.slice(0, WIDTH - 1)}…`)).join('\n')}\n`;
}
