/** Where a figure or a statement is from. */
import { formatCount } from './units.js';

/** A line of a text, an entry of a trace, a file as a whole, or what the user gave. Paths as results name them. */
export type Place =
  | { readonly path: string; readonly line: number }
  | { readonly path: string; readonly entry: number }
  | { readonly path: string }
  | { readonly option: string };

/** `train.log line 1,234`, `snapshot_3.pickle entry 77`, `train.log`, `--capacity`. */
export function placeText(place: Place): string {
  if ('option' in place) return place.option;
  if ('line' in place) return `${place.path} line ${formatCount(place.line)}`;
  return 'entry' in place ? `${place.path} entry ${formatCount(place.entry)}` : place.path;
}
