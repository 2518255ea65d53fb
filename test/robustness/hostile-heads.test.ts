import { expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { HOSTILE_HEADS } from './hostile-heads.js';

/** All parsers together take 10 ms for nearly all heads, and 50 ms for the worst. A square takes seconds. */
const MOST_MS = 1500;
const NAMES = ['a', 'a.json', 'a.log', 'a.yaml', 'a.csv'];

function sniffMs(bytes: Uint8Array, name: string): number {
  const before = process.cpuUsage();
  for (const parser of PARSERS) parser.sniff({ bytes, name, sizeBytes: 2 ** 20 });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

it('no beginning of a file keeps detection busy', () => {
  const slow = HOSTILE_HEADS.flatMap(({ what, bytes }, index) => {
    const name = NAMES[index % NAMES.length]!;
    const ms = sniffMs(bytes, name);
    // Once more: the first call compiles.
    return ms > MOST_MS && sniffMs(bytes, name) > MOST_MS ? [`${what}: ${ms} ms`] : [];
  });
  expect(slow).toEqual([]);
});
