/** The index may offer too much, never too little: whatever a pattern fits is among its candidates. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtInTiers, readPhases } from '../../src/attribution/built-in-rules.js';
import {
  compilePatterns,
  type FrameTest,
  listOf,
  type NamedFrame,
  namedFrame,
} from '../../src/attribution/match/frame-pattern.js';
import { PatternIndex } from '../../src/attribution/match/pattern-index.js';
import type { FramePattern } from '../../src/attribution/match/rule.js';
import { sampleFrames } from '../../src/attribution/match/sample-frames.js';
import { SEED } from '../support/level.js';
import { readSamples } from './read-samples.js';

type Patterns = FramePattern | readonly FramePattern[];

interface Indexed {
  readonly index: PatternIndex;
  readonly patterns: readonly Patterns[];
  readonly tests: readonly FrameTest[];
}

function indexed(patterns: readonly Patterns[]): Indexed {
  const index = new PatternIndex();
  patterns.forEach((one, i) => {
    index.add(i, one);
  });
  return { index, patterns, tests: patterns.map(compilePatterns) };
}

const RULES = builtInTiers().flatMap(({ rules }) => rules);
/** As `compileRules` asks them, and the conditions of all rules too: they are patterns as people write them. */
const LISTS: readonly (readonly [string, Indexed])[] = [
  ['at', indexed(RULES.map(({ at }) => at))],
  ['phases', indexed(readPhases().phases.map(({ at }) => at))],
  [
    'around',
    indexed(
      RULES.flatMap(({ within, through, without }) => [within, through, without].filter((one) => one !== undefined)),
    ),
  ],
];

const SAMPLES = new Map<string, NamedFrame>();
for (const samples of readSamples().values())
  for (const { frames } of samples)
    for (const { name, path } of sampleFrames(frames)) SAMPLES.set(`${name} ${path}`, namedFrame(name, path));
const FRAMES = [...SAMPLES.values()];

/** What brute force finds, and the index does not offer. */
function lost({ index, tests, patterns }: Indexed, frame: NamedFrame): unknown[] {
  const offered = index.candidates(frame);
  expect(offered).toEqual([...new Set(offered)].sort((a, b) => a - b));
  const found = new Set(offered);
  return tests.flatMap((test, i) =>
    test(frame) && !found.has(i) ? [{ frame: `${frame.name} ${frame.path}`, pattern: patterns[i] }] : [],
  );
}

describe.each(LISTS)('patterns of %s', (_, list) => {
  it('are all offered for the frames of all samples', () => {
    expect(FRAMES.length).toBeGreaterThan(300);
    let fits = 0;
    for (const frame of FRAMES) {
      expect(lost(list, frame)).toEqual([]);
      fits += list.tests.filter((test) => test(frame)).length;
    }
    // Without a single fit nothing was tested.
    expect(fits).toBeGreaterThan(100);
  });

  it('are fewer than all of them', () => {
    const offered = FRAMES.reduce((sum, frame) => sum + list.index.candidates(frame).length, 0);
    expect(offered / FRAMES.length).toBeLessThan(0.6 * list.tests.length);
  });

  it('are offered for frames put together from their own parts', () => {
    const parts = list.patterns.flatMap((one) => listOf(one));
    const pick = (texts: readonly string[]) => fc.constantFrom(...texts);
    // A star of a pattern stands for some text, two for folders.
    const written = (text: string) => text.replace('**', 'deep/er').replaceAll('*', 'any');
    const files = parts.flatMap(({ file }) => (file === undefined ? [] : listOf(file).map(written)));
    const names = parts.flatMap(({ function: name }) => (name === undefined ? [] : listOf(name).map(written)));
    const path = fc.tuple(pick(['', '/opt/', 'a/b.c/', 'C:\\x\\']), pick([...files, 'x.py', '<string>', '']));
    const name = fc.tuple(
      pick(['', 'Class.', 'f.<locals>.', 'ns::', 'a::B.']),
      pick([...names, 'forward', '<module>']),
      pick(['', '()', '(float)', '.inner']),
    );
    let fits = 0;
    fc.assert(
      fc.property(name, path, (texts, where) => {
        const frame = namedFrame(texts.join(''), where.join(''));
        expect(lost(list, frame)).toEqual([]);
        fits += list.tests.filter((test) => test(frame)).length;
      }),
      { numRuns: 2000, seed: SEED },
    );
    expect(fits).toBeGreaterThan(100);
  });
});

describe('patterns nobody wrote yet', () => {
  const word = fc.constantFrom('a', 'b', 'mlp.py', 'x*', '*', '*.py', 'core');
  const file = fc
    .array(fc.oneof(word, fc.constant('**')), { minLength: 1, maxLength: 4 })
    .map((words) => words.join('/'));
  const name = fc.constantFrom('f', 'g*', '*', 'A.f', 'A.*g', 'at::native::*', 'at::f.g', 'B.<locals>.f', 'f(int)');
  const some = <T>(one: fc.Arbitrary<T>) => fc.oneof(one, fc.array(one, { minLength: 1, maxLength: 3 }));
  const pattern = fc.record(
    { file: some(file), function: some(name) },
    { requiredKeys: [] },
  ) as fc.Arbitrary<FramePattern>;
  const valid = (patterns: Patterns): boolean => {
    try {
      compilePatterns(patterns);
      return true;
    } catch {
      return false;
    }
  };
  const frame = fc
    .tuple(
      fc.constantFrom(
        'f',
        'g1',
        'A.f',
        'Z.A.f',
        'at::native::f',
        'at::f.g',
        'x::f',
        'B.<locals>.f',
        'f(int)',
        'C.A.gg',
        '',
      ),
      fc.array(fc.constantFrom('a', 'b', 'core', 'mlp.py', 'x1', 'y.py'), { maxLength: 4 }),
    )
    .map(([of, folders]) => namedFrame(of, folders.join('/')));

  it('are never lost', () => {
    let fits = 0;
    fc.assert(
      fc.property(
        fc.array(some(pattern).filter(valid), { minLength: 1, maxLength: 80 }),
        fc.array(frame, { minLength: 1, maxLength: 20 }),
        (patterns, frames) => {
          const list = indexed(patterns);
          for (const one of frames) {
            expect(lost(list, one)).toEqual([]);
            fits += list.tests.filter((test) => test(one)).length;
          }
        },
      ),
      { numRuns: 300, seed: SEED },
    );
    expect(fits).toBeGreaterThan(1000);
  });

  // Its bare name is the whole of it, the pattern's is what follows the dot.
  it('are found for a name with a dot and brackets, but no ::', () => {
    expect(lost(indexed([{ function: 'A.f(int)' }]), namedFrame('A.f(int)', ''))).toEqual([]);
  });
});
