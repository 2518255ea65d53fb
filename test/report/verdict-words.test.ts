import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fill, wordTable } from '../../src/report/words/fill.js';

const codes = (table: object): string[] => Object.keys(table).sort();

it('every reason of a check has words, and no others have', () => {
  const model = readFileSync(new URL('../../src/model/results/compare.ts', import.meta.url), 'utf8');
  const [union] = /type CheckReason =[\s\S]*?(?=\n\n)/.exec(model)!;
  const reasons = [...union.matchAll(/code:([^;}]*)/g)].flatMap(([, kinds]) =>
    [...kinds!.matchAll(/'(\w+)'/g)].map(([, code]) => code!),
  );
  // A preset has a sentence of its own.
  expect(codes({ ...wordTable('checks', 'reasons'), ending: '', preset: '' })).toEqual(reasons.sort());
});

describe('a template', () => {
  const figures = {
    numbers: { size_bytes: 2048, free_bytes: 1024, ranks: 1500, code: -9 },
    names: { site: 'f [a|b] {ranks} $&', moment: 'peak' },
    items: [
      { name: 'x', numbers: { bytes: 1024, times: 1 } },
      { name: 'y', numbers: { bytes: 1024, times: 2 } },
    ],
  };
  it.each([
    ['{size_bytes}, {size_bytes:count}, {ranks}, {ranks:raw}', '2.00 KiB, 2,048, 1,500, 1500'],
    ['{size_bytes-free_bytes} and {ranks+1}', '1.00 KiB and 1,501'],
    ['a[ in {site}][ of {other}]', 'a in f [a|b] {ranks} $&'],
    [
      '[{other}|{ranks}|no] [{other?}some|none] [{moment=peak}top [{code<0}by signal|out]|low]',
      '1,500 none top by signal',
    ],
    ['{items}: {items:call}; {items:call:1}; {items:sum}', '2: x, y (2 times); x and 1 more; 2.00 KiB'],
  ])('%s', (template, text) => expect(fill(template, figures)).toBe(text));

  it('throws for what the statement lacks', () => {
    expect(() => fill('{other}', figures)).toThrow('a statement has no other');
    expect(() => fill('{moment:sites}', figures)).toThrow('no words for peak');
  });
});
