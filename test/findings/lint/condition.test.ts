/** The language of rules: Kleene's logic, and what single facts answer. */
import { describe, expect, it } from 'vitest';
import {
  all,
  any,
  type Condition,
  not,
  notKnown,
  before as olderThan,
  since,
  type Tri,
  where,
} from '../../../src/derive/settings/condition.js';
import type { Looked, RawFacts } from '../../../src/derive/settings/facts.js';
import { conditionOfText } from '../../../src/derive/settings/terms.js';
import { asList, asNumber, isOn } from '../../../src/derive/settings/values.js';
import { compareVersions } from '../../../src/derive/settings/versions.js';
import { View } from '../../../src/derive/settings/view.js';
import { factsOfSample, type Sample } from '../../support/lint-sample.js';

/** Conditions on single facts, as data files write them. */
const written = (text: string): Condition => conditionOfText(text, 'test');
type Value = string | number | boolean | null;
const on = (key: string) => written(key);
const off = (key: string) => written(`${key} off`);
const isSet = (key: string) => written(`${key} set`);
const missing = (key: string) => written(`${key} not set`);
const is = (key: string, ...values: readonly Value[]) => written(`${key} = ${values.join('|') || 'null'}`);
const isNot = (key: string, ...values: readonly Value[]) => written(`${key} ≠ ${values.join('|')}`);
const above = (key: string, limit: number) => written(`${key} > ${limit}`);
const below = (key: string, limit: number) => written(`${key} < ${limit}`);
const has = (key: string, ...words: readonly string[]) => written(`${key} has ${words.join('|')}`);
const hasOther = (key: string, words: readonly string[]) => written(`${key} has other than ${words.join('|')}`);
const emptyList = (key: string) => written(`${key} empty`);
const env = (name: string, value: string | null) => written(`${name} = ${value ?? 'unset'}`);
const envNot = (name: string, value: string) => written(`${name} ≠ ${value}`);
const envHas = (name: string, part: string) => written(`${name} has ${part}`);

const viewOf = (sample: Sample, more: Partial<RawFacts> = {}): View => new View({ ...factsOfSample(sample), ...more });
const answer = (condition: Condition, sample: Partial<Sample> = {}): Tri =>
  condition.test(viewOf({ config: {}, ...sample })).value;
/** On one setting that no framework has, so that no default stands in. */
const ofX = (condition: Condition, x: Sample['config'][string]): Tri => answer(condition, { config: { x } });

const fact = (key: string, value: Tri): Looked => ({
  key,
  kind: 'setting',
  by: value === null ? 'unknown' : 'told',
  value: value === null ? null : String(value),
  explicit: null,
  source: null,
});
const fixed = (name: string, value: Tri): Condition => where(name, () => [value, fact(name, value)]);
const TRIS: readonly Tri[] = [true, false, null];

describe("Kleene's logic", () => {
  it.each(TRIS.flatMap((a) => TRIS.map((b) => [a, b] as const)))('of %s and %s', (a, b) => {
    const [left, right] = [fixed('left', a), fixed('right', b)];
    const both = a === false || b === false ? false : a === null || b === null ? null : true;
    const either = a === true || b === true ? true : a === null || b === null ? null : false;
    expect(answer(all(left, right))).toBe(both);
    expect(answer(any(left, right))).toBe(either);
    // De Morgan.
    expect(answer(not(all(left, right)))).toBe(answer(any(not(left), not(right))));
    expect(answer(not(any(left, right)))).toBe(answer(all(not(left), not(right))));
  });

  it('of one', () => {
    expect(TRIS.map((value) => answer(not(fixed('a', value))))).toEqual([false, true, null]);
    expect(TRIS.map((value) => answer(notKnown(fixed('a', value))))).toEqual([false, true, true]);
  });

  it('of none', () => {
    expect(answer(all())).toBe(true);
    expect(answer(any())).toBe(false);
  });

  const keys = (condition: Condition): string[] => condition.test(viewOf({ config: {} })).looked.map(({ key }) => key);

  it('looks at what decides', () => {
    expect(keys(all(fixed('a', true), fixed('b', true)))).toEqual(['a', 'b']);
    expect(keys(all(fixed('a', true), fixed('b', false), fixed('c', false)))).toEqual(['b']);
    expect(keys(all(fixed('a', true), fixed('b', null)))).toEqual(['a', 'b']);
    expect(keys(any(fixed('a', false), fixed('b', true), fixed('c', null)))).toEqual(['b']);
    expect(keys(any(fixed('a', false), fixed('b', null)))).toEqual(['b']);
    expect(keys(any(fixed('a', false), fixed('b', false)))).toEqual(['a', 'b']);
    // An exception that is not known is no fact of the finding.
    expect(keys(notKnown(fixed('a', null)))).toEqual([]);
    expect(keys(notKnown(fixed('a', false)))).toEqual(['a']);
  });

  it('reads as text, with brackets where they are needed', () => {
    expect(all(on('a'), any(on('b'), above('c', 1))).text).toBe('a and (b or c > 1)');
    expect(any(all(on('a'), on('b')), not(on('c'))).text).toBe('(a and b) or not c');
    expect(not(any(on('a'), on('b'))).text).toBe('not (a or b)');
    expect(notKnown(olderThan('torch', '2.9')).text).toBe('not torch < 2.9, as far as known');
  });
});

describe('a setting', () => {
  it.each([
    [true, true],
    [false, false],
    [null, false],
    ['none', false],
    ['None', false],
    ['', false],
    [0, false],
    ['off', false],
    ['no', false],
    ['hybrid', true],
    [1, true],
  ] as const)('%s is on: %s', (value, expected) => {
    expect(ofX(on('x'), value)).toBe(expected);
    expect(ofX(off('x'), value)).toBe(!expected);
    expect(isOn(value === null ? null : String(value))).toBe(expected);
  });

  it('that nobody told is unknown, and its default where it has one', () => {
    for (const condition of [on('x'), off('x'), isSet('x'), missing('x'), is('x', 1), isNot('x', 1), above('x', 1)])
      expect(answer(condition, { config: { bf16: true } })).toBeNull();
    expect(answer(above('pipeline_model_parallel_size', 1), { config: { bf16: true } })).toBe(false);
    // Nothing was read: what is missing says nothing.
    expect(answer(above('pipeline_model_parallel_size', 1))).toBeNull();
  });

  it('is one of several values, without regard to case, quotes and trailing zeros', () => {
    expect(ofX(is('x', 'full'), 'Full')).toBe(true);
    expect(ofX(is('x', 'full'), '"full"')).toBe(true);
    expect(ofX(is('x', 'full', 'selective'), 'selective')).toBe(true);
    expect(ofX(is('x', 'full'), 'fully')).toBe(false);
    expect(ofX(is('x', null), null)).toBe(true);
    expect(ofX(is('x', 'none'), null)).toBe(true);
    expect(ofX(is('x', null), '~')).toBe(true);
    expect(ofX(is('x', 0), '0.0')).toBe(true);
    expect(ofX(is('x', 0), 0.1)).toBe(false);
    expect(ofX(is('x', true), true)).toBe(true);
    expect(ofX(isNot('x', 'a', 'b'), 'c')).toBe(true);
    expect(ofX(isNot('x', 'a', 'b'), 'b')).toBe(false);
  });

  it('is given unless it is None', () => {
    expect(ofX(isSet('x'), 0)).toBe(true);
    expect(ofX(isSet('x'), null)).toBe(false);
    expect(ofX(missing('x'), null)).toBe(true);
  });
});

describe('numbers', () => {
  it.each([
    ['8', 8],
    ['1_000', 1000],
    ['-1', -1],
    ['1e-5', 1e-5],
    ['.5', 0.5],
    [' 3 ', 3],
    ['8 GPUs', null],
    ['auto', null],
    ['', null],
    [null, null],
    ['0x10', null],
  ] as const)('%s', (text, expected) => {
    expect(asNumber(text)).toBe(expected);
  });

  it('are compared; words and None are neither above nor below', () => {
    expect(ofX(above('x', 1), 2)).toBe(true);
    expect(ofX(above('x', 1), 1)).toBe(false);
    expect(ofX(below('x', 1), 0)).toBe(true);
    expect(ofX(above('x', -1), null)).toBe(false);
    expect(ofX(below('x', 1), null)).toBe(false);
    expect(ofX(below('x', 1), 'auto')).toBe(false);
  });

  it('of several settings', () => {
    const divides = written('{x, y: y % x = 0}');
    expect(answer(divides, { config: { x: 4, y: 8 } })).toBe(true);
    expect(answer(divides, { config: { x: 4, y: 6 } })).toBe(false);
    expect(answer(divides, { config: { x: 4 } })).toBeNull();
    expect(answer(divides, { config: { x: 4, y: null } })).toBe(false);
    expect(divides.test(viewOf({ config: { x: 4 } })).looked.map(({ key, by }) => [key, by])).toEqual([
      ['x', 'told'],
      ['y', 'unknown'],
    ]);
  });
});

describe('lists', () => {
  it.each([
    ['["a", "b"]', ['a', 'b']],
    ["['a', 'b']", ['a', 'b']],
    ['a,b', ['a', 'b']],
    ['a', ['a']],
    ['[]', []],
    ['[1, 0]', ['1', '0']],
    ['None', null],
    [null, null],
  ] as const)('%s', (text, expected) => {
    expect(asList(text)).toEqual(expected);
  });

  it('have words, other words, or none', () => {
    expect(ofX(has('x', 'a'), ['a', 'b'])).toBe(true);
    expect(ofX(has('x', 'c', 'b'), ['a', 'b'])).toBe(true);
    // Whole words only.
    expect(ofX(has('x', 'moe'), ['moe_act'])).toBe(false);
    expect(ofX(hasOther('x', ['a']), ['a', 'b'])).toBe(true);
    expect(ofX(hasOther('x', ['a', 'b']), ['a'])).toBe(false);
    expect(ofX(emptyList('x'), [])).toBe(true);
    expect(ofX(emptyList('x'), ['a'])).toBe(false);
    for (const condition of [has('x', 'a'), hasOther('x', ['a']), emptyList('x')]) {
      expect(ofX(condition, null)).toBe(false);
      expect(answer(condition, { config: { bf16: true } })).toBeNull();
    }
  });
});

describe('versions', () => {
  it.each([
    ['2.11.0a0+git', '2.11', 0],
    ['2.11.0a0+git', '2.6', 1],
    ['0.16.1', '0.16', 1],
    ['0.16.0rc0', '0.16', 0],
    ['0.9', '0.10', -1],
    ['v0.15.2', '0.16', -1],
    ['2.6.0.dev0', '2.6', 0],
  ] as const)('%s against %s', (a, b, sign) => {
    expect(Math.sign(compareVersions(a, b))).toBe(sign);
    expect(Math.sign(compareVersions(b, a))).toBe(sign === 0 ? 0 : -sign);
  });

  it('bound from below and from above', () => {
    const versions = { torch: '2.11.0a0+git' };
    expect(answer(since('torch', '2.11'), { versions })).toBe(true);
    expect(answer(olderThan('torch', '2.11'), { versions })).toBe(false);
    expect(answer(since('torch', '2.12'), { versions })).toBe(false);
    expect(answer(olderThan('torch', '2.11'))).toBeNull();
    expect(answer(since('torch', '2.11'))).toBeNull();
  });
});

describe('the environment', () => {
  const V = 'NCCL_GRAPH_REGISTER';

  it('that was captured completely shows which variables are unset', () => {
    expect(answer(env(V, null))).toBe(true);
    expect(answer(env(V, '0'))).toBe(false);
    expect(answer(envNot(V, '0'))).toBe(true);
    expect(answer(envHas(V, '0'))).toBe(false);
    expect(viewOf({ config: {} }).env(V).by).toBe('told');
  });

  it('of a script is assumed not to set the rest', () => {
    const view = viewOf({ config: {}, env: { OTHER: '1' } }, { env_known: 'partial' });
    expect(envNot(V, '0').test(view)).toMatchObject({ value: true, looked: [{ key: V, by: 'assumed', value: null }] });
    expect(env('OTHER', '1').test(view)).toMatchObject({ value: true, looked: [{ by: 'told' }] });
  });

  it('that nothing tells is unknown', () => {
    for (const condition of [env(V, null), env(V, '0'), envNot(V, '0'), envHas(V, '0')])
      expect(answer(condition, { env: 'unknown' })).toBeNull();
  });

  it('is compared by letter', () => {
    const sample = { env: { AA: 'expandable_segments:True,max_split_size_mb:512' } };
    expect(answer(envHas('AA', 'expandable_segments:True'), sample)).toBe(true);
    expect(answer(envHas('AA', 'expandable_segments:true'), sample)).toBe(false);
    expect(answer(env('AA', 'expandable_segments:True'), sample)).toBe(false);
  });
});

describe('device and framework', () => {
  it('compute capability', () => {
    expect(answer(written('capability < 10'), { gpu: 'h100-80gb' })).toBe(true);
    expect(answer(written('capability < 10'), { gpu: 'GB200' })).toBe(false);
    expect(answer(written('capability < 10'))).toBeNull();
  });

  it('framework', () => {
    expect(answer(written('framework = nemo|megatron-bridge'), { framework: 'nemo' })).toBe(true);
    expect(answer(written('framework = nemo'), { framework: 'megatron-lm' })).toBe(false);
    expect(answer(written('framework = nemo'))).toBeNull();
  });
});

describe('the notation', () => {
  const parsed = (text: string): Condition => conditionOfText(text, 'file: rule', (name) => /^[a-z]$/.test(name));

  it.each([
    ['a', 'a', 'a', true],
    ['a off or not b', 'a off or not b', 'a b', false],
    ['a and b or c > 1', '(a and b) or c > 1', 'a b c', true],
    ['a and (b or c < -1)', 'a and (b or c < -1)', 'a b', true],
    ['a set and b not set', 'a set and b not set', 'b', false],
    ["a = x|null|'two words'", 'a = x or null or two words', 'a', false],
    ['a != 1|torch.float32', 'a ≠ 1, torch.float32', 'a', true],
    ['a has b|c and a has other than b and a empty', '(a has b or c) and a has others than b and a empty', 'a', false],
    [
      'NCCL_X = 1|unset and NCCL_X ≠ 0 and NCCL_X not set',
      '(NCCL_X = 1 or not set) and NCCL_X ≠ 0 and NCCL_X not set',
      'NCCL_X',
      false,
    ],
    ['NCCL_X has a:b', 'NCCL_X has a:b', 'NCCL_X', false],
    ['torch < 2.9.1 and megatron_core >= 0.14', 'torch < 2.9.1 and megatron_core ≥ 0.14', 'torch megatron_core', null],
    [
      'capability < 10 and framework = nemo|megatron-lm',
      'compute capability < 10 and (nemo or megatron-lm)',
      'device framework',
      null,
    ],
    ['not_known(a and b)', 'not (a and b), as far as known', 'a b', false],
    ['{a % (2 · b) ≠ 0}', 'a % (2 · b) ≠ 0', 'a b', false],
    ["{b, a: a * b <= 1 and a > 0} as 'small'", 'small', 'b a', false],
    ['explicit(a)', 'a told', 'a', true],
    [
      'whole_layer',
      'cuda_graph_modules not set or cuda_graph_modules empty or cuda_graph_modules has full',
      'cuda_graph_modules',
      true,
    ],
  ])('%s', (text, plain, keys, answers) => {
    const { looked, value } = parsed(text).test(viewOf({ config: { a: 4, b: 2, c: 3 }, env: { NCCL_X: '1' } }));
    expect(parsed(text).text).toBe(plain);
    expect([...new Set(looked.map(({ key }) => key))].join(' ')).toBe(keys);
    expect(value).toBe(answers);
  });

  it.each([
    ['{a − b = 2 and a / b = 2}', true],
    ['{a + b · 2 = 8}', true],
    ['{(a + b) · 2 = 8}', false],
    ['{ceil(a / 3) = 2 or a < 0}', true],
    ['{n?1 = 1}', true],
    ['{n = 1}', false],
    ['{n?1 · m = 1}', null],
  ] as const)('%s is %s', (text, expected) => {
    const condition = conditionOfText(text, '');
    expect(answer(condition, { config: { a: 4, b: 2, n: null } })).toBe(expected);
  });

  it.each([
    ['a and', 'column 6: expected a condition, found ""'],
    ['a b', 'column 3: expected and, or, found "b"'],
    ['(a or b', 'column 8: expected ), found ""'],
    ['a > x', 'column 5: expected a number, found "x"'],
    ['a and zz off', 'column 7: expected a setting, a variable or a term, found "zz"'],
    ['zz(a)', 'column 1: expected a term, found "zz"'],
    ['{a % zz = 0}', 'column 6: expected a setting, a variable or a term, found "zz"'],
    ['a # b', 'column 2: expected a name, a value or a sign, found "# b"'],
  ])('%s fails', (text, message) => {
    expect(() => parsed(text)).toThrow(`file: rule, ${message} in "${text}"`);
  });
});
