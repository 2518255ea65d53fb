// biome-ignore-all lint/suspicious/noTemplateCurlyInString: text of a file
/** The reader of plain YAML gives what the library gives, to the last index, or leaves the text to it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../parsers/config/yaml.js';
import { readPlainYaml } from '../../src/text/plain-yaml.js';

const KEYS = 'a b c d _target_ x.y a-b k/l "q" << 1 A#'
  .split(' ')
  .concat('a b', '- a', '- b', '-  c', '- - a', '? a', 'a ');
const VALUES = [
  ...'1 true null ~ -1 -x --flag a: a#c "q" [] {} [a,] [a: {a: | > *x @x ` % - 1e-5 .5 ... --- << /p/q:r a] [a = +1 ^a ; x:#y'.split(
    ' ',
  ),
  ...'[-] [-1, [~] [x:y] é 1_000 "" [""] -# x- " [.] ! & <a.b: ${x} (1) http://x/y'.split(' '),
  'a b',
  'a: b',
  'a #c',
  "'s'",
  "'it''s'",
  '"a\\nb"',
  '[a, b]',
  '[1,2, 3 ]',
  '["x", y z]',
  '[a, [b]]',
  '{a: 1}',
  '&x 1',
  '!t v',
  '? x',
  ': x',
  '- x',
  'a, b',
  '"x" y',
  "'x' # c",
  '# only',
  'x  y',
  '[a b, c-d]',
  '[ ]',
  '[a] # c',
  '[a]#c',
  "[it's]",
  'null # n',
  'a - b',
  'x :y',
  '',
];
const line = fc
  .tuple(
    fc.constantFrom(0, 0, 0, 2, 2, 4, 1, 6),
    fc.constantFrom('key', 'key', 'key', 'item', 'comment', 'bare'),
    fc.constantFrom(...KEYS),
    fc.constantFrom(' ', ' ', '  ', ''),
    fc.constantFrom(...VALUES),
    fc.constantFrom('\n', '\n', '\n', '\n\n', ' \n', '  # c\n', '\r\n', ''),
  )
  .map(([indent, form, key, blank, value, end]) => {
    const text = { key: `${key}:${blank}${value}`, item: `- ${value}`, comment: `# ${value}`, bare: value }[form];
    return ' '.repeat(indent) + text + end;
  });

describe('plain YAML', () => {
  it('is what the library makes of it', () => {
    let plain = 0;
    fc.assert(
      fc.property(
        fc.constantFrom('', '', '---\n', '# c\n', ' '),
        fc.array(line, { minLength: 1, maxLength: 6 }),
        (start, lines) => {
          const text = start + lines.join('');
          const read = readPlainYaml(text);
          if (read === null) return;
          plain += 1;
          expect(read, text).toEqual(readYaml(text));
        },
      ),
      { numRuns: 20_000 },
    );
    expect(plain).toBeGreaterThan(200);
  });

  it('covers configurations as trainers write them', () => {
    const samples = join(import.meta.dirname, '..', '..', 'samples');
    // The generator's own data files are not configurations.
    const names = readdirSync(samples, { recursive: true, encoding: 'utf8' }).filter(
      (name) => /\.ya?ml$/.test(name) && !name.startsWith('generate'),
    );
    for (const name of names) {
      const text = readFileSync(join(samples, name), 'utf8');
      expect(readPlainYaml(text), name).toEqual(readYaml(text));
    }
    expect(names.length).toBeGreaterThan(3);
  });

  it('leaves to the library what is more than that', () => {
    for (const text of [
      '',
      'words',
      'a: &x 1\nb: *x\n',
      'a: |\n  text\n',
      'a: one\n  two\n',
      'a: 1\na: 2\n',
      '<<: {a: 1}\n',
      'a: 1\n---\nb: 2\n',
      'a:\n\t- 1\n',
      'a: [1,\n  2]\n',
      '"a": 1\n',
      'a: !!python/tuple [1]\n',
      'a: 1\r\n',
      `a: ${'x'.repeat(2 ** 22)}\n`,
      Array.from({ length: 60 }, (_, i) => `${' '.repeat(i)}a:\n`).join(''),
    ])
      expect(readPlainYaml(text), text.slice(0, 40)).toBeNull();
  });
});
