import type { LaunchEnd, LaunchEnding } from '../model/launch-end.js';
import { formatCount } from '../model/units.js';
import { printable } from './plain-text.js';
import { wordOf } from './words/fill.js';

export const endingWord = wordOf('codes', 'launch_endings');

/** `files`: how many the run has; of several, the one of the line is named. */
export function endingText({ ending, ending_file: file, ending_line: line }: LaunchEnd, files: number): string {
  if (line === null || ending === 'unknown') return endingWord(ending);
  const name = files > 1 && file !== null ? `${printable(file)} ` : '';
  return `${endingWord(ending)} (${name}line ${formatCount(line)})`;
}

/** `2: out of memory (line 1,204)`. */
export const launchText = (end: LaunchEnd): string => `${end.attempt}: ${endingText(end, 1)}`;

/** `8 finished, 4 out of memory`. */
export function endingCounts(launches: readonly Pick<LaunchEnd, 'ending'>[]): string {
  const counts = new Map<LaunchEnding, number>();
  for (const { ending } of launches) counts.set(ending, (counts.get(ending) ?? 0) + 1);
  return [...counts].map(([ending, count]) => `${formatCount(count)} ${endingWord(ending)}`).join(', ');
}
