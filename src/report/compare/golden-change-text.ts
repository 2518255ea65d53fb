/** One line for what `golden add`, `import`, `export` and `remove` did. */

import type { GoldenChangeResult } from '../../model/results/golden.js';
import { counted } from '../text-pieces.js';

const WORDS: Readonly<Record<GoldenChangeResult['change'], string>> = {
  added: 'now of',
  written: 'written, of',
  removed: 'removed, of',
};

export function goldenChangeText({ change, name, runs, where }: GoldenChangeResult): string {
  return `golden ${name}: ${WORDS[change]} ${counted(runs, 'run')} (${where})\n`;
}
