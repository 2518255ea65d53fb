/** The screen of `compare`: the verdict, then whether the two may be compared, then figures, then what may be why. */
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import type { CheckStatus, CompareCheck, CompareResult } from '../../src/model/results/compare.js';
import { changeOf, checkFigure, relativeOf, shortCommit, toleranceOf } from '../../src/report/compare/check-words.js';
import { type CompareLook, compareDocument } from '../../src/report/compare/compare-document.js';
import { documentJson } from '../../src/report/render/json.js';
import { documentText } from '../../src/report/render/text.js';
import { goldenFile } from '../screens/golden-file.js';
import {
  bridge,
  check,
  emptyCompare,
  entry,
  gib,
  HOSTILE,
  hostileCompare,
  refused,
  regression,
  SUSPECT,
  site,
  statusCheck,
} from '../support/compare-results.js';

function compareText(result: CompareResult, look?: CompareLook): string {
  const document = compareDocument(result, look);
  documentJson(document);
  return documentText(document);
}

const STATUSES: readonly CheckStatus[] = ['pass', 'regression', 'improvement', 'undecided', 'skipped', 'info'];

/** Lines break between words; a word that is longer than a line is not cut. */
function expectWrapped(text: string): void {
  for (const line of text.split('\n'))
    if (Math.min(line.length, stringWidth(line)) > 100) expect(line.trim().replace(/^- /, ''), line).toMatch(/^\S+$/);
}

/** What holds of every screen. */
function expectFits(text: string): void {
  expectWrapped(text);
  for (const line of text.split('\n')) expect(line, line).toBe(line.trimEnd());
  expect(text).not.toMatch(/undefined|NaN|\[object|Infinity/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  expect(text.endsWith('\n')).toBe(true);
  expect(text).not.toContain('\n\n\n');
}

describe('compareText', () => {
  it('shows a regression', async () => {
    await expect(compareText(regression())).toMatchFileSnapshot(goldenFile('compare-regression.txt'));
  });

  it('explains why nothing was judged, and how to judge anyway', async () => {
    await expect(compareText(refused())).toMatchFileSnapshot(goldenFile('compare-refused.txt'));
  });

  it("quotes upstream's words of a preset", async () => {
    await expect(compareText(bridge())).toMatchFileSnapshot(goldenFile('compare-bridge.txt'));
  });

  it('is short for an empty result', async () => {
    await expect(compareText(emptyCompare())).toMatchFileSnapshot(goldenFile('compare-empty.txt'));
  });

  it('does not promise that --force helps where the contract holds', () => {
    const text = compareText(emptyCompare({ refused: 'the golden file is of an inference test' }));
    expect(text).toContain('Refused: the golden file is of an inference test; no figure was judged\n');
    expect(text).not.toContain('--force');
  });

  it('reports an ignored broken contract', () => {
    const text = compareText(refused({ refused: null, checks: regression().checks }));
    expect(text).toMatch(/\nContract, broken: different configurations are compared nevertheless\n.*\nblocking /);
    expect(text.indexOf('blocking ')).toBeLessThan(text.indexOf('peak_allocated'));
  });

  it('wraps words in the columns of figures', () => {
    const status = statusCheck('completed', `out of memory: capacity, ${'transient spike '.repeat(3)}`);
    const figures = check('peak_allocated', gib(50), gib(55), { gate: true, status: 'regression' });
    const text = compareText(emptyCompare({ checks: [status, figures] }));
    expectFits(text);
    expect(text.replaceAll(/\s+/g, ' ')).toMatch(/completed out of memory: .*capacity, .*transient .*spike/);
    expect(text).toMatch(/\npeak_allocated +50\.00 GiB +55\.00 GiB +\+5\.00 GiB +\+10\.0 % +2 % +regression\n/);
  });

  describe('stages and ranks', () => {
    const total = check('peak_allocated', gib(50), gib(55), { gate: true, status: 'regression' });
    const stage = (number: number, golden: number, current: number, status: CheckStatus): CompareCheck =>
      check(`peak_allocated:stage ${number}`, gib(golden), gib(current), { gate: true, status });
    const screen = (...parts: CompareCheck[]): string => compareText(emptyCompare({ checks: [total, ...parts] }));

    it('are counted where they changed like the total', () => {
      const text = screen(stage(0, 50, 55, 'regression'), stage(1, 40, 44, 'regression'));
      expect(text).toContain('By stage and rank\nno more than the total: 2 regression\n');
    });

    it('are shown where only some grew', () => {
      const text = screen(stage(0, 50, 50, 'pass'), stage(1, 40, 55, 'regression'), stage(2, 40, 40, 'pass'));
      expect(text).toMatch(/\npeak_allocated:stage 1 .* regression\n/);
      expect(text).not.toContain('stage 0');
      expect(text).toContain('\nthe others: 2 pass\n');
    });

    it('show the one that changed most where none is odd', () => {
      const passing = { ...total, ...check('peak_allocated', gib(50), gib(50)), gate: true };
      const parts = [stage(0, 50, 50, 'pass'), stage(1, 40, 40.7, 'pass'), stage(2, 40, 38, 'pass')];
      const text = compareText(emptyCompare({ checks: [passing, ...parts] }));
      expect(text).toMatch(/peak_allocated:stage 2 .*-5\.0 %/);
      expect(text).toContain('the others: 2 pass');
    });

    it('are absolute values without a total', () => {
      const text = compareText(emptyCompare({ checks: [stage(0, 50, 50, 'pass')] }));
      expect(text).toMatch(/check .*\npeak_allocated:stage 0 /);
    });
  });

  it('lists the call sites that grew most, all of them with limit 0', () => {
    const sites = Array.from({ length: 9 }, (_, i) => site(`f${i} a/b.py:${i}`, 0, gib(i + 1)));
    const result = emptyCompare({ sites });
    expect(compareText(result)).toContain('\n3 more sites grew by 6.00 GiB (--limit 0 shows all)\n');
    expect(compareText(result)).toMatch(/f8 a\/b\.py:8\n.*f7/);
    expect(compareText(result, { limit: 1 })).toContain('8 more sites grew by 36.00 GiB');
    const all = compareText(result, { limit: 0 });
    for (const { site: name } of sites) expect(all).toContain(name);
    expect(all).not.toContain('--limit');
  });

  it('counts what it leaves out', () => {
    const many = Array.from({ length: 30 }, (_, i) => ({ key: `key_${i}`, a: '1', b: '2' }));
    const text = compareText(emptyCompare({ config: many, suspects: many.map(() => SUSPECT) }));
    expect(text).toContain('\n10 more; --json=full has all\n');
    expect(text).toContain('\n24 more; --json=full has all\n');
    expectFits(text);
  });

  it('names every check', () => {
    fc.assert(
      fc.property(fc.array(anyCheck, { maxLength: 12 }), fc.constantFrom('default', 'bridge', 'mlm'), (all, preset) => {
        const checks = all.map((one, i) => ({ ...one, name: `${one.name}${i}` }));
        const text = compareText(emptyCompare({ checks, preset } as Partial<CompareResult>));
        expectFits(text);
        for (const { name, status } of checks) expect(text).toMatch(new RegExp(`^${name}\\b.* ${status}$`, 'm'));
      }),
    );
  });

  it('fits the screen whatever is in the result', () => {
    for (const base of [regression(), refused(), bridge(), emptyCompare()]) {
      const text = compareText(hostileCompare(base));
      expectFits(text);
      expect(text).not.toContain(HOSTILE);
    }
    fc.assert(
      fc.property(fc.string({ maxLength: 300, unit: 'binary' }), fc.double(), (word, number) => {
        const checks = [
          check(word, number, -number, { gate: true, unit: word, reason: word, noise: number, tolerance: number }),
          statusCheck(word, word, { name: word }),
        ];
        const text = compareText(
          emptyCompare({
            checks,
            summary: word,
            contract: [entry('model', word, word, `${word}x`, true)],
            suspects: [{ ...SUSPECT, file: word, hunk: word, lines: [word] }],
            config: [{ key: word, a: word, b: word }],
            notes: [word],
          }),
        );
        expectWrapped(text);
      }),
    );
  });
});

/** As large and as small as figures of runs get. */
const amount = fc.integer({ min: -1e9, max: 1e9 }).map((thousandths) => thousandths / 1000);
const share = fc.integer({ min: -5e4, max: 5e4 }).map((parts) => parts / 1e4);
const anyCheck: fc.Arbitrary<CompareCheck> = fc.record({
  name: fc.constantFrom('peak', 'step_time', 'max_alloc', 'component:x'),
  golden: fc.option(amount),
  current: fc.option(amount),
  unit: fc.constantFrom('bytes', 'ms', 'GB', 's', '1', ''),
  delta: fc.option(amount),
  relative: fc.option(share),
  tolerance: fc.option(fc.integer({ min: 0, max: 1000 }).map((parts) => parts / 1000)),
  status: fc.constantFrom(...STATUSES),
  gate: fc.boolean(),
  noise: fc.option(amount),
  detectable: fc.option(share),
  detectable_repeated: fc.option(share),
  reason: fc.option(fc.lorem()),
  why: fc.constant(null),
  is_least: fc.constant(false),
});

describe('figures', () => {
  it.each([
    [58.1 * 2 ** 30, 'bytes', '58.10 GiB'],
    [2366.64, 'ms', '2,366.6 ms'],
    [12.345, 'ms', '12.35 ms'],
    [-512.34, 'ms', '-512.3 ms'],
    [709.93, 'TFLOP/s/GPU', '709.93'],
    [0.00012, 'tokens/s', '0.00012'],
    [58.8, 'GB', '58.8 GB'],
    [1.2345678, 's', '1.23457 s'],
    [3, '1', '3'],
    ['oom', '', 'oom'],
    ['', '', '(empty)'],
    [null, 'bytes', '—'],
    [Number.NaN, 'ms', '—'],
    [Number.POSITIVE_INFINITY, '1', '—'],
    [1e300, 'bytes', '1.00e+300 B'],
    [1e300, 'ms', '1.00e+300'],
  ] as const)('%s %s reads %s', (value, unit, words) => {
    expect(checkFigure(value, unit)).toBe(words);
  });

  it('show a change that prints like its tolerance with more digits', () => {
    const of = (relative: number, tolerance: number): string =>
      relativeOf({ ...check('x', 1, 1), relative, tolerance });
    expect(of(0.0602, 0.02)).toBe('+6.0 %');
    expect(of(0.0204, 0.02)).toBe('+2.04 %');
    expect(of(0.02004, 0.02)).toBe('+2.004 %');
    expect(of(-0.02, 0.02)).toBe('-2.0 %');
    expect(of(0.0003, 0.02)).toBe('+0.03 %');
    expect(of(0, 0.02)).toBe('0.0 %');
    expect(toleranceOf({ ...check('x', 1, 1), tolerance: 1 - 0.95 })).toBe('5 %');
    expect(changeOf(check('x', 58.8, 54.8, { unit: 'GB' }))).toBe('-4 GB');
  });

  it('shorten hashes and nothing else', () => {
    expect(shortCommit('ABCDEF0123456789')).toBe('ABCDEF0');
    expect(shortCommit('v1.2.3')).toBe('v1.2.3');
  });
});
