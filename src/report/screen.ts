/**
 * The screen that texts are made for. The command line sets it once, before the first text: a width and whether the
 * terminal shows colours are properties of the process, like its standard output.
 */
export const screen = {
  /** Columns of a line. */
  width: 100,
  color: false,
};

export const LEAST_WIDTH = 60;
export const MOST_WIDTH = 160;

export function setScreen({ width, color }: { readonly width: number; readonly color: boolean }): void {
  screen.width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, width));
  screen.color = color;
}

type Style = (text: string) => string;

/** Select Graphic Rendition of ECMA-48. */
const sgr =
  (on: number, off: number): Style =>
  (text) =>
    screen.color && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text;

export const bold = sgr(1, 22);
export const dim = sgr(2, 22);
export const red = sgr(31, 39);
export const green = sgr(32, 39);
export const yellow = sgr(33, 39);
export const cyan = sgr(36, 39);
