/** A screen from its lines. */
import { screen } from './screen.js';

/** `wrap` breaks at blanks alone: a word longer than the screen, as hostile names are, is cut here. */
export function screenText(lines: readonly string[]): string {
  return `${lines.map((line) => (line.length <= screen.width ? line.trimEnd() : `${line.slice(0, screen.width - 1)}…`)).join('\n')}\n`;
}
