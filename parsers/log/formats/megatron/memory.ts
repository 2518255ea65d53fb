import type { LineCode } from '../contract.js';
import { memoryFigures, memoryHead, memoryLineIsCut } from '../memory-line.js';
import { bytesOf, halfDigit, MIB, memoryFigure } from '../units.js';

const COUNTER = /\b(?:retries|retires|count|ooms)$/;

export const MEMORY_LINES: readonly LineCode[] = [
  {
    id: 'megatron-lm.memory',
    read(groups, emit, { metrics }) {
      const figures = memoryFigures(groups['rest'] ?? '');
      const head = memoryHead(groups['rank'], groups['name'] ?? groups['bare'] ?? '');
      // `.2f` since January 2026; before, a float's shortest text, from which whole bytes follow.
      const rounded = figures.every(({ text }) => text.length - text.indexOf('.') === 3);
      for (const { key, text } of figures) {
        // Forks add counters behind the sizes.
        if (COUNTER.test(key)) emit(memoryFigure(key.replaceAll(/[ -]/g, '_'), text, 'count', 1, head, 0));
        else emit(memoryFigure(metrics!.get(key) ?? key, text, 'MB', MIB, head, rounded ? halfDigit(text) : 0));
      }
    },
    byShape: [bytesOf(MIB), bytesOf(1)],
    cutAtEnd: (text) => memoryLineIsCut(text, 'memory (MB) |'),
  },
];
