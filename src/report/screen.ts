import { visibleLines } from '../model/escape-controls.js';

/**
 * The screen that texts are made for. The command line sets it once, before the first text: a width and whether the
 * terminal shows colours are properties of the process, like its standard output.
 */
export const screen = {
  /** Columns of a line. */
  width: 100,
  color: false,
  /**
   * Names and cells are whole, however long a line gets: what a pipe carries is read by programs. Sentences are still
   * wrapped at `width`.
   */
  isLossless: false,
};

export const LEAST_WIDTH = 60;
export const MOST_WIDTH = 160;

type Settings = Pick<typeof screen, 'width' | 'color'> & Partial<typeof screen>;

export function setScreen({ width, color, isLossless = false }: Settings): void {
  screen.width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, width));
  screen.color = color;
  screen.isLossless = isLossless;
}

type Style = (text: string) => string;

/** Parameters of Select Graphic Rendition (ECMA-48). */
const RENDITIONS = [1, 22, 31, 39, 32, 33, 36] as const;
type Rendition = (typeof RENDITIONS)[number];
/** In texts, a style is a noncharacter: escape sequences in them are never ours, and are made harmless at the end. */
const FIRST_MARK = 0xfdd0;
const MARKS = /([\ufdd0-\ufdd6])/;

const style =
  (on: Rendition, off: Rendition): Style =>
  (text) =>
    screen.color && text !== '' ? `${markOf(on)}${text}${markOf(off)}` : text;

const markOf = (rendition: Rendition): string => String.fromCharCode(FIRST_MARK + RENDITIONS.indexOf(rendition));

export const bold = style(1, 22);
export const red = style(31, 39);
export const green = style(32, 39);
export const yellow = style(33, 39);
export const cyan = style(36, 39);

/**
 * The last step of every text on its way to a terminal: nothing but visible characters, tabs, line ends, and the styles
 * above, as escape sequences or not at all.
 */
export function forTerminal(text: string, hasColor: boolean): string {
  if (!MARKS.test(text)) return visibleLines(text);
  const pieces = text.split(MARKS).map((piece, i) => {
    if (i % 2 === 0) return visibleLines(piece);
    return hasColor ? `\u001b[${RENDITIONS[piece.charCodeAt(0) - FIRST_MARK]}m` : '';
  });
  return pieces.join('');
}
