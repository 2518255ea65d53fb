/** The screen of `compare`: the verdict, then whether the two may be compared, then figures, then what may be why. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CheckStatus, CompareCheck, CompareResult } from '../../src/model/results/compare.js';
import { changeOf, checkFigure, relativeOf, shortCommit, toleranceOf } from '../../src/report/compare/check-words.js';
import { compareText } from '../../src/report/compare/compare-text.js';
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

const STATUSES: readonly CheckStatus[] = ['pass', 'regression', 'improvement', 'undecided', 'skipped', 'info'];

/** What holds of every screen. */
function expectFits(text: string): void {
  for (const line of text.split('\n')) {
    expect(line.length, line).toBeLessThanOrEqual(100);
    expect(line, line).toBe(line.trimEnd());
  }
  expect(text).not.toMatch(/undefined|NaN|\[object|Infinity/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  expect(text.endsWith('\n')).toBe(true);
  expect(text).not.toContain('\n\n\n');
}

describe('compareText', () => {
  it('shows a regression', () => {
    expect(compareText(regression())).toBe(`\
run-17 (commit abc1234) against golden nightly (commit d34db33, 3 runs)
VERDICT  regression
         peak allocated memory grew by 3.30 GiB, 6.0 %, of the 2 % that pass

contract
  differs   revision   commit run: d34db33 → abc1234
  same: model, workload, layout, device, precision

  check               golden     current     change          tolerance  status
  status           completed   completed                                pass
    50 of 50 iterations
  peak_allocated   54.80 GiB   58.10 GiB  +3.30 GiB  +6.0 %        2 %  regression
    rank 0 (stage 0), the largest of 4 ranks; change known to ±51.20 MiB
  step_time       2,366.6 ms  2,400.1 ms  +33.50 ms  +1.4 %        3 %  undecided
    a straggler was reported in iterations 20 to 31; change known to ±80.00 ms
  loss                     —           —          —                     skipped
    a side prints no loss

by stage and rank
  check                      golden    current     change          tolerance  status
  peak_allocated:stage 0  54.80 GiB  58.10 GiB  +3.30 GiB  +6.0 %        2 %  regression
  the others: 1 pass

informative
  check                        golden    current     change           tolerance  status
  peak_reserved             60.00 GiB  62.50 GiB  +2.50 GiB   +4.2 %             info
  throughput (TFLOP/s/GPU)     402.10     396.50      -5.60   -1.4 %        3 %  pass
  component:activation      20.00 GiB  23.30 GiB  +3.30 GiB  +16.5 %        2 %  regression

of which    activation +3.30 GiB, workspace -32.00 MiB

     change    golden   current   blocks  call site that grew
  +3.30 GiB  4.00 GiB  7.30 GiB  32 → 64  forward megatron/core/transformer/mlp.py:123
                                            +3.30 GiB _forward_mlp …/transformer_layer.py:640
  1 site shrank by 32.00 MiB

settings that differ, golden → current
  recompute_granularity: full → (not set)

allocator settings that differ, golden → current
  PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True → (not set)

environment that differs, golden → current
  NVTE_FUSED_ATTN: 1 → 0

suspects, the likeliest first
   1  0.92  3rdparty/Megatron-LM/megatron/core/transformer/mlp.py
            @@ -120,3 +121,4 @@ def forward(self, hidden_states):
            it changes the lines of the call site that grew most
              -        del hidden_states
              +        self.saved = hidden_states
            abc1234 Keep the MLP input for the backward pass
   2  0.40  recompute_granularity
            full recompute was switched off

  notes       the snapshots are of rank 0 alone
`);
  });

  it('explains why nothing was judged, and how to judge anyway', () => {
    expect(compareText(refused())).toBe(`\
run-17 against golden nightly (commit d34db33, 3 runs)
VERDICT  undecided
REFUSED  not comparable: num_layers 32 → 64, gpu_total_bytes 85899345920 → 151397597184
         no figure was judged; --force compares them nevertheless

contract
  BLOCKING  model      num_layers: 32 → 64
  BLOCKING  device     gpu_total_bytes: 80.00 GiB → 141.00 GiB
  differs   layout     tp: 2 → 4
  same: workload
  unknown in one of the two: precision, revision

  check      golden    current  change     tolerance  status
  status  completed  completed                        pass
`);
  });

  it("quotes upstream's words of a preset", () => {
    expect(compareText(bridge())).toBe(`\
run-17 (commit abc1234) against file golden/llama3_70b.json
VERDICT  regression                                                                    preset bridge
         GPU utilization −6.1 %; max_alloc +6.0 %; max_reserved: the current values have none

contract
  same: model, workload, layout, device, precision
  unknown in one of the two: revision

  check                           golden  current   change           tolerance  status
  GPU utilization (TFLOP/s/GPU)   709.93   666.48   -43.45   -6.1 %        5 %  regression
    mean of steps 35 to 49
    "REGRESSION: GPU util dropped 6.12% (current=666.4800%, golden=709.9300%, threshold=5.0%)"
  alloc                          20.5 GB  20.6 GB  +0.1 GB  +0.49 %        5 %  pass
  max_alloc                        55 GB  58.3 GB  +3.3 GB   +6.0 %        5 %  regression
    "Memory validation FAILED: 6.00% > 5.0%"
  max_reserved                     60 GB        —        —                 5 %  regression
    the current values have none, which fails upstream
    "Max reserved validation FAILED: metric not found in current logs"
`);
  });

  it('is short for an empty result', () => {
    expect(compareText(emptyCompare())).toBe(`\
run-17 against golden nightly (1 run)
VERDICT  undecided
         no figure is told by both sides

contract
  unknown in one of the two: model, workload, layout, device, precision, revision

no figures were compared
`);
  });

  it('does not promise that --force helps where the contract holds', () => {
    const text = compareText(emptyCompare({ refused: 'the golden file is of an inference test' }));
    expect(text).toContain('REFUSED  the golden file is of an inference test\n');
    expect(text).not.toContain('--force');
  });

  it('reports an ignored broken contract', () => {
    const text = compareText(refused({ refused: null, checks: regression().checks }));
    expect(text).toContain('contract, broken: different configurations are compared nevertheless\n  BLOCKING');
    expect(text.indexOf('BLOCKING')).toBeLessThan(text.indexOf('peak_allocated'));
  });

  it('prints in full the words that the columns cut', () => {
    const status = statusCheck('completed', 'out of memory: capacity, transient spike');
    const text = compareText(emptyCompare({ checks: [status] }));
    expect(text).toContain('\n    completed → out of memory: capacity, transient spike\n');
  });

  describe('stages and ranks', () => {
    const total = check('peak_allocated', gib(50), gib(55), { gate: true, status: 'regression' });
    const stage = (number: number, golden: number, current: number, status: CheckStatus): CompareCheck =>
      check(`peak_allocated:stage ${number}`, gib(golden), gib(current), { gate: true, status });
    const screen = (...parts: CompareCheck[]): string => compareText(emptyCompare({ checks: [total, ...parts] }));

    it('are counted where they changed like the total', () => {
      const text = screen(stage(0, 50, 55, 'regression'), stage(1, 40, 44, 'regression'));
      expect(text).toContain('by stage and rank\n  no more than the total: 2 regression\n');
    });

    it('are shown where only some grew', () => {
      const text = screen(stage(0, 50, 50, 'pass'), stage(1, 40, 55, 'regression'), stage(2, 40, 40, 'pass'));
      expect(text).toMatch(/\n {2}peak_allocated:stage 1 .* regression\n/);
      expect(text).not.toContain('stage 0');
      expect(text).toContain('\n  the others: 2 pass\n');
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
      expect(text).toMatch(/check .*\n {2}peak_allocated:stage 0 /);
    });
  });

  it('lists the call sites that grew most, all of them with limit 0', () => {
    const sites = Array.from({ length: 9 }, (_, i) => site(`f${i} a/b.py:${i}`, 0, gib(i + 1)));
    const result = emptyCompare({ sites });
    expect(compareText(result)).toContain('\n  3 more sites grew by 6.00 GiB (--limit 0 shows all)\n');
    expect(compareText(result)).toMatch(/f8 a\/b\.py:8\n.*f7/);
    expect(compareText(result, { limit: 1 })).toContain('8 more sites grew by 36.00 GiB');
    const all = compareText(result, { limit: 0 });
    for (const { site: name } of sites) expect(all).toContain(name);
    expect(all).not.toContain('--limit');
  });

  it('counts what it leaves out', () => {
    const many = Array.from({ length: 30 }, (_, i) => ({ key: `key_${i}`, a: '1', b: '2' }));
    const text = compareText(emptyCompare({ config: many, suspects: many.map(() => SUSPECT) }));
    expect(text).toContain('  18 more; --json shows all\n');
    expect(text).toContain('  24 more; --json shows all\n');
    expectFits(text);
  });

  it('names every check', () => {
    fc.assert(
      fc.property(fc.array(anyCheck, { maxLength: 12 }), fc.constantFrom('default', 'bridge', 'mlm'), (all, preset) => {
        const checks = all.map((one, i) => ({ ...one, name: `${one.name}${i}` }));
        const text = compareText(emptyCompare({ checks, preset } as Partial<CompareResult>));
        expectFits(text);
        for (const { name, status } of checks) expect(text).toMatch(new RegExp(` ${name}\\b.* ${status}\\n`));
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
        for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
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
