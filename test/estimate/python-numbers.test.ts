import { expect, it } from 'vitest';
import { fixed, fixedWithBlank, pythonSum } from '../../src/estimate/python-numbers.js';

it.each([
  // Ties of exact binary fractions go to the even digit, as Python prints them.
  [54905.625, 2, '54905.62'],
  [0.375, 2, '0.38'],
  [0.125, 2, '0.12'],
  [2.5, 0, '2'],
  [-0.125, 2, '-0.12'],
  // No ties: their binary values lie to one side.
  [0.145, 2, '0.14'],
  [2.675, 2, '2.67'],
  [1.005, 2, '1.00'],
  [137848.5703125, 2, '137848.57'],
  [0, 2, '0.00'],
  [1e15, 1, '1000000000000000.0'],
])('%d with %d digits is %s', (value, digits, text) => {
  expect(fixed(value, digits)).toBe(text);
});

it('leaves a blank where a minus would stand', () => {
  expect(fixedWithBlank(6.98, 2)).toBe(' 6.98');
  expect(fixedWithBlank(-6.98, 2)).toBe('-6.98');
});

it('sums as CPython does since 3.12', () => {
  expect(pythonSum(new Array<number>(10).fill(0.1))).toBe(1);
  expect(pythonSum([1, 1e100, 1, -1e100])).toBe(2);
  expect(pythonSum([])).toBe(0);
});
