/** Numbers, headers and JSON of exported scalars. */
import { expect, it } from 'vitest';
import { readNumber } from '../../parsers/scalars/numbers.js';
import { plainJson, plainJsonText } from '../../parsers/scalars/plain-json.js';
import { splitHeader } from '../../parsers/scalars/table-plan.js';
import { bytesSource } from '../support/decode.js';

it.each([
  ...([
    ['12', 12],
    ['-1.5e-3', -0.0015],
    ['.5', 0.5],
    ['NaN', Number.NaN],
    ['-inf', -Infinity],
  ] as const),
  ...['', '1,5', '0x10', '1_000', 'one'].map((text) => [text, undefined] as const),
])('number %s is %s', (text, value) => {
  expect(readNumber(text)).toBe(value);
});

it.each([
  ['a,b', ['a', 'b']],
  ['"a, b","c""d",', ['a, b', 'c"d', '']],
  ['"a', null],
  ['"a"b,c', null],
])('header %s is %j', (line, cells) => {
  expect(splitHeader(line)).toEqual(cells);
});

it('JSON of Python is made JSON, of the same length; texts stay as they are', async () => {
  const text = '{"a": NaN, "b": [-Infinity, Infinity, -5], "NaN \\" Infinity": "-Infinity"}';
  const plain = plainJsonText(text);
  expect(plain).toHaveLength(text.length);
  expect(JSON.parse(plain)).toEqual({ a: '\u007f', b: ['-inf', 'inf', -5], 'NaN " Infinity': '-Infinity' });
  for (let chunk = 1; chunk < 30; chunk += 1) {
    const source = plainJson(bytesSource(Buffer.from(text), chunk));
    const buffer = Buffer.alloc(100);
    let out = '';
    for (let count = await source.read(buffer, 0); count > 0; count = await source.read(buffer, 0))
      out += buffer.toString('utf8', 0, count);
    expect(out).toBe(plain);
  }
});
