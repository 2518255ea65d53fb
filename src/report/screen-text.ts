/** A screen from its lines. */
import { screen } from './screen.js';

/** `wrap` breaks at blanks alone: a word longer than the screen, as hostile names are, is cut here. */
export function screenText(lines: readonly string[]): string {
  const isWhole = (line: string): boolean => screen.isLossless || line.length <= screen.width;
  return `${lines.map((line) => (isWhole(line) ? line.trimEnd() : `${line.slice(0, screen.width - 1)}…`)).join('\n')}\n`;
}
