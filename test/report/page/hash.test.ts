import { describe, expect, it } from 'vitest';
import { formatHash, type HashState, parseHash } from '../../../src/report/page/hash.js';

describe('parseHash', () => {
  it('reads what it writes', () => {
    const state: HashState = {
      ...{ view: 'map', device: 1, cursor: 23_999, axis: 'time', range: { from: 100, to: 200 }, stack: 7 },
      evidence: '2-E6',
    };
    expect(formatHash(state)).toBe('#v=map&r=1&t=23999&a=time&z=100-200&s=7&e=2-E6');
    expect(parseHash(formatHash(state))).toEqual(state);
    expect(parseHash(formatHash({}))).toEqual({});
  });

  it.each([
    ['unknown keys', '#x=1&__proto__=2&constructor=3'],
    ['an unknown view', '#v=verdict'],
    ['markup', '#v=<b>&e=<img src=x onerror=1>&a=time%3Cscript'],
    ['numbers of other forms', '#r=-1&t=1e9&s=0x10&z=1.5-2'],
    ['numbers that are too long', `#r=1000&t=${'9'.repeat(11)}&s=${'9'.repeat(10)}`],
    ['an empty range', '#z=200-200'],
    ['a range from right to left', '#z=300-200'],
    ['evidence of another form', '#e=E&e2=E1&e=E12345'],
    ['a link inside the page', '#evidence-E6'],
    ['broken escapes', '#t=%E0%A4%A&v=%'],
    ['nothing', ''],
  ])('ignores %s', (_what, hash) => {
    expect(parseHash(hash)).toEqual({});
  });

  it('keeps the valid keys, and ignores others', () => {
    expect(parseHash('#v=map&t=oops&z=5-9')).toEqual({ view: 'map', range: { from: 5, to: 9 } });
  });
});
