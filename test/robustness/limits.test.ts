/** `docs/limits.md` has the limits of the code, and small files that once exceeded them are read or refused at once. */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readJson } from '../../parsers/config/read-config.js';
import { readYaml } from '../../parsers/config/yaml.js';
import { parseRules } from '../../src/attribution/match/user-rules.js';
import { literalText } from '../../src/knowledge/literal.js';
import { MbfError } from '../../src/model/errors.js';
import { readPlainYaml } from '../../src/text/plain-yaml.js';
import { readShellSettings, type ShellCut } from '../../src/text/shell-settings.js';
import { joinMapped, mapped } from '../../src/text/shell-text.js';
import { checkYaml, plainYamlValue, YAML_LIMITS, yamlDocument, yamlValue } from '../../src/text/yaml.js';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

const UNITS: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** `4 * 1024 * 1024`, `4 * MIB`, `65_536`. */
function product(text: string): number {
  return text
    .split('*')
    .map((factor) => factor.trim())
    .map((factor) => ({ KIB: 1024, MIB: 1024 ** 2 })[factor] ?? Number(factor.replaceAll('_', '')))
    .reduce((a, b) => a * b, 1);
}

describe('docs/limits.md', () => {
  const text = readFileSync(join(ROOT, 'docs', 'limits.md'), 'utf8');
  const rows = [...text.matchAll(/^\| (.+?) \| ([\d,]+)(?: (\S+))? \| .+? \| `(\S+)` (\w+) \|$/gm)];

  it('names its constants', () => {
    expect(rows.length).toBeGreaterThan(25);
  });

  it.each(rows.map(([, what, figure, unit, file, name]) => ({ what, figure, unit, file, name })))(
    '$what: $figure $unit is $name',
    ({ figure, unit, file, name }) => {
      const source = readFileSync(join(ROOT, file!), 'utf8');
      const values = [...source.matchAll(new RegExp(`\\b${name}(?: =|:) (\\d[\\d_ *A-Z]*?)\\s*[;,}]`, 'g'))];
      const scale = name === 'silentMs' ? 1000 : name === 'heapMib' ? 1 : (UNITS[unit!] ?? 1);
      const expected = Number(figure!.replaceAll(',', '')) * scale;
      expect(values.map((match) => product(match[1]!))).toContain(expected);
    },
  );
});

const codeOf = (read: () => unknown): string => {
  try {
    read();
    return 'read';
  } catch (error) {
    if (error instanceof MbfError) return error.code;
    throw error;
  }
};

describe('YAML', () => {
  it.each([
    ['nested explicit keys', '? '.repeat(500)],
    ['nested values', ': '.repeat(500)],
    ['nested lists', '- '.repeat(500)],
    ['nested mappings', Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:\n`).join('')],
    ['brackets', '['.repeat(500)],
    ['many lines', '"\n'.repeat(60_000)],
    ['many brackets that close nothing', ']'.repeat(101_000)],
  ])('of %s is refused before it is parsed', (_, text) => {
    expect(typeof checkYaml(text)).toBe('object');
    expect(codeOf(() => readYaml(text))).toBe('MBF2201');
    expect(codeOf(() => yamlDocument(text, 'MBF2951'))).toBe('MBF2951');
    expect(codeOf(() => parseRules(text, 'rules.yaml'))).toBe('MBF2601');
  });

  it('counts what the package builds', () => {
    expect(checkYaml('a: 1\nb: [x, y]\n')).toBe(7);
    expect(checkYaml('word '.repeat(100_000))).toBe(0);
    expect(checkYaml('a-b: 10:20:30 x-y\n')).toBe(2);
    expect(checkYaml(`- [${'a,'.repeat(YAML_LIMITS.marks)}]`)).toMatchObject({ at: 2 * YAML_LIMITS.marks - 3 + 3 });
  });

  it('has keys that are collections as they are written', () => {
    const text = `${'{'.repeat(90)}a: 1${'}: 1'.repeat(89)}}\n`;
    const [tree] = readYaml(text).trees;
    expect(tree).toMatchObject({ kind: 'map', entries: [{ key: text.slice(1, 201).trim() }] });
    expect(codeOf(() => parseRules(`rules: [${text.trim()}]`, 'r.yaml'))).toBe('MBF2601');
  });

  it('ends aliases that multiply, and aliases of themselves, in one error', () => {
    const laughs = Array.from(
      { length: 12 },
      (_, i) => `  - &a${i} [${Array(9).fill(i === 0 ? 'x' : `*a${i - 1}`)}]\n`,
    );
    for (const text of [`rules:\n${laughs.join('')}`, 'rules: &a [*a]\n', 'rules: [*a]\n']) {
      expect(
        codeOf(() => parseRules(text, 'r.yaml')),
        text.slice(0, 40),
      ).toBe('MBF2601');
    }
    const long = `a: &a "${'x'.repeat(100_000)}"\nb: [${Array(100).fill('*a').join(',')}]\n`;
    expect(codeOf(() => readYaml(long))).toBe('MBF2201');
  });

  it('names the file and line of rules beyond a limit', () => {
    let message = '';
    try {
      parseRules(`rules:\n${'  - "\n'.repeat(60_000)}`, 'rules.yaml');
    } catch (error) {
      message = (error as MbfError).describe();
    }
    expect(message).toMatch(/^rules\.yaml line \d+: holds more than 100000 lines/);
  });

  it('is the same with and without the package', () => {
    const text = [
      ...['kind: Pod', 'metadata:', '  name: a-0', "  uid: '12'", 'spec:', '  n: 3', '  f: 1.5', '  hex: 0x10'],
      ...['  no: null', '  tilde: ~', '  none: None', '  yes: true', '  empty: {}', '  items:', '  - name: x'],
      ...['    args: [a, "1", 2]', '  - name: y', ''],
    ].join('\n');
    const document = yamlDocument(text.replace('0x10', 'x10'), 'MBF2951');
    const value = yamlValue(document, 'MBF2951', (what) => {
      throw new Error(what);
    });
    expect(plainYamlValue(text.replace('0x10', 'x10'))).toEqual(value);
    expect(readPlainYaml(text)).not.toBeNull();
  });
});

describe('JSON', () => {
  it('has keys and calls inside collections whose text does not double at every level', () => {
    const keys = readJson(`${'{'.repeat(60)}"a":1${'}:1'.repeat(59)}}`).trees[0]!;
    expect(literalText(keys)!.length).toBeLessThan(1000);
    const calls = readJson(`{"a": ${'A({"k":'.repeat(30)}1${'})'.repeat(30)}}`).trees[0]!;
    expect(literalText(calls)!.length).toBeLessThan(1_000_000);
  });

  it('of less-than signs is searched once', () => {
    expect(readJson(`[${'<,'.repeat(200_000)}]`).notes).toHaveLength(1);
  });
});

describe('shell text', () => {
  const cutOf = (text: string): string => {
    let what = '';
    readShellSettings(text, (cut: ShellCut) => {
      what = cut.what;
    });
    return what;
  };

  it('joins what is empty, and what goes on, to no further piece', () => {
    const parts = [mapped('', 3), mapped('ab', 10), mapped('', 4), mapped('c', 12), mapped('d', 20)];
    expect(joinMapped(parts)).toEqual({
      text: 'abcd',
      pieces: [
        [0, 10],
        [3, 20],
      ],
    });
    expect(joinMapped([mapped('', 3), mapped('', 5)])).toEqual({ text: '', pieces: [[0, 3]] });
  });

  it.each([
    ['variables that expand', `A=${'x'.repeat(60_000)}\n${'true $A\n'.repeat(100)}`, /expand to more than/],
    [
      'a default that expands',
      `A=${'x'.repeat(60_000)}\n${'B=y$'.concat('{U:-$A}\n').repeat(100)}`,
      /expand to more than/,
    ],
    ['a long value', `A=${'x'.repeat(70_000)}\n`, /a value of more than/],
    ['appends', `A=${'x'.repeat(60_000)}\n${'A+=x\n'.repeat(1000)}`, /appended to/],
    ['words', `true ${'a '.repeat(101_000)}\n`, /a command of more than/],
    ['parts of a word', `true ${'$a'.repeat(101_000)}\n`, /a command of more than/],
    ['words of an array', `A=(${'a '.repeat(101_000)})\n`, /a command of more than/],
  ])('names the limit that %s exceed, and goes on', (_, text, expected) => {
    const launch = '\npython pretrain_gpt.py --num-layers 4\n';
    expect(cutOf(text + launch)).toMatch(expected);
    expect(readShellSettings(text + launch).map(({ finding }) => finding.key)).toContain('num_layers');
  });

  it('of chained variables, keywords, blanks and redirections comes to its end', () => {
    const chain = `V0=x\n${Array.from({ length: 20_000 }, (_, i) => `V${i + 1}=$V${i}\n`).join('')}`;
    expect(cutOf(chain)).toBe('');
    for (const text of [
      '! '.repeat(100_000),
      `#SBATCH ${' '.repeat(100_000)}`,
      `${"'a'".repeat(30_000)}${'5>'.repeat(60_000)}`,
      `A=(${"'' ".repeat(30_000)})\n${'true $'.concat('{A:-x}\n').repeat(20_000)}`,
    ])
      readShellSettings(text);
  });

  it('takes the number of a redirection from no word before it', () => {
    const keys = (text: string): string[] => readShellSettings(text).map(({ finding }) => finding.value ?? '');
    expect(keys('python pretrain_gpt.py --num-layers 4 2>&1 >5>x')).toEqual(['4']);
  });
});
