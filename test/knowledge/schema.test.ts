import { describe, expect, it } from 'vitest';
import { anyOf, checkShape, oneOf, repeated } from '../../src/text/check-shape.js';

const RULE = {
  id: /[a-z.]+/,
  patterns: ['string'],
  'source?': 'string|null',
  'role?': oneOf('head', 'opens'),
} as const;

describe('checkShape', () => {
  it('accepts a value of the shape, with and without its optional keys', () => {
    expect(checkShape([{ id: 'a.b', patterns: [] }], [RULE])).toEqual([]);
    expect(checkShape({ id: 'a', patterns: ['x'], source: null, role: 'head' }, RULE)).toEqual([]);
  });

  it('names each problem with its path', () => {
    const rule = { id: 'A', patterns: ['x', 1], role: 'tail', more: 1 };
    expect(checkShape([rule, {}, 7], [RULE])).toEqual([
      '$[0].id: expected a string like /[a-z.]+/, got "A"',
      '$[0].patterns[1]: expected string, got 1',
      '$[0].role: expected one of "head", "opens", got "tail"',
      '$[0].more: unknown key',
      '$[1].id: missing',
      '$[1].patterns: missing',
      '$[2]: expected a record, got 7',
    ]);
  });

  it('checks maps, tuples and alternatives', () => {
    expect(checkShape({ a: 1, b: 2.5 }, { '*': 'integer' })).toEqual(['$.b: expected integer, got 2.5']);
    expect(checkShape(['a'], ['string', 'number'])).toEqual(['$: expected 2 items, got ["a"]']);
    expect(checkShape('a', anyOf('string', ['string']))).toEqual([]);
    expect(checkShape([1], anyOf('string', ['string']))).toEqual(['$: [0]: expected string, got 1']);
  });

  it('refuses a shape with a type that does not exist', () => {
    expect(() => checkShape('a', 'text')).toThrow('unknown type text');
  });

  it('finds repeated values', () => {
    expect(repeated(['a', 'b', 'a'])).toEqual(['a']);
  });
});
