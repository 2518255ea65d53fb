/** Which launches a log contains: composed logs, where the truth follows from the composition. */
import { describe, expect, it } from 'vitest';
import {
  ENDS,
  FINISHED,
  type Framework,
  iteration,
  range,
  readComposed,
  STARTS,
  STEPS,
  startsOf,
} from '../support/launches/pieces.js';

const FRAMEWORKS = Object.keys(STARTS) as Framework[];
const iterationsOf = ({ rows }: ReturnType<typeof readComposed>): number[] =>
  rows.flatMap((row) => (row.row === 'iteration' ? [row.iteration] : []));

describe.each(FRAMEWORKS)('launches of %s', (framework) => {
  const steps = (from: number, to: number): string[] => range(from, to).map((i) => STEPS[framework](i));

  it('are one, however many lines announce it, and however it ends', () => {
    for (const [name, , end] of ENDS)
      expect(startsOf(readComposed([STARTS[framework], steps(1, 8), end])), name).toEqual([]);
    expect(startsOf(readComposed([STARTS[framework], steps(1, 8), FINISHED[framework]]))).toEqual([]);
  });

  it('are two, whatever ended the first one, after training or before it', () => {
    for (const [name, , end] of ENDS) {
      const trained = [...STARTS[framework], ...steps(1, 8), ...end];
      const second = [...STARTS[framework], ...steps(5, 12)];
      expect(startsOf(readComposed([trained, second])), name).toEqual([trained.length + 1]);
      const untrained = [...STARTS[framework], ...end];
      expect(startsOf(readComposed([untrained, second])), name).toEqual([untrained.length + 1]);
    }
  });

  it('are not mixed: a header of the second one belongs to it, and so do its settings', () => {
    const first = [...STARTS[framework], ...steps(1, 8), 'Killing subprocess 4711'];
    const header = ['NVIDIA Release 24.07 (build 1)', 'torch version .................... 2.4.0'];
    const log = readComposed([first, header, STARTS[framework], steps(1, 8)]);
    expect(startsOf(log)).toEqual([first.length + 1]);
    for (const { line, attempt } of log.rows) expect(attempt).toBe(line > first.length ? 2 : 1);
  });
});

describe('a launch', () => {
  it('begins at a counter that goes back, without any other sign', () => {
    expect(
      startsOf(readComposed([range(1, 20).map((i) => iteration(i)), range(1, 9).map((i) => iteration(i))])),
    ).toEqual([21]);
    expect(
      startsOf(readComposed([range(100, 140).map((i) => iteration(i)), range(121, 150).map((i) => iteration(i))])),
    ).toEqual([42]);
    const later = [range(1, 9).map((i) => iteration(i)), ENDS[2]![2], range(10, 19).map((i) => iteration(i))];
    expect(startsOf(readComposed(later))).toEqual([9 + ENDS[2]![2].length + 1]);
  });

  it('begins behind an OOM, however many writers print its first line, and whichever prints that of the next', () => {
    const banner = '> initializing torch distributed ...';
    const steps = (from: number, to: number): string[] => range(from, to).map((i) => iteration(i));
    const oom = ENDS[0]![2].slice(0, 4);
    for (const copies of [1, 2, 8]) {
      const first = [...range(1, copies).map(() => banner), ...steps(1, 10), ...oom];
      expect(startsOf(readComposed([first, steps(5, 14)])), `${copies}`).toEqual([first.length + 1]);
    }
    for (const [mark, next] of [
      ['[default7]:', '[default15]:'],
      ['[default7]:', '[default7]:'],
      ['7: ', '15: '],
    ]) {
      const first = [banner, ...steps(1, 10), ...oom].map((line) => `${mark}${line}`);
      const second = [banner, ...steps(1, 10)].map((line) => `${next}${line}`);
      expect(startsOf(readComposed([first, second])), next).toEqual([first.length + 1]);
    }
  });

  it('begins with another version of a library', () => {
    const version = (text: string): string => `torch version .................... ${text}`;
    const log = readComposed([
      version('2.1.0'),
      range(1, 9).map((i) => iteration(i)),
      version('2.2.1'),
      range(10, 19).map((i) => iteration(i)),
    ]);
    expect(startsOf(log)).toEqual([11]);
  });

  it('is not begun by ranks that print the same banners, with or without prefixes', () => {
    const steps = range(1, 9).map((i) => iteration(i));
    const banner = STARTS.megatron[0];
    expect(startsOf(readComposed([range(0, 63).map(() => banner), STARTS.megatron, steps]))).toEqual([]);
    expect(
      startsOf(readComposed([range(0, 63).map((rank) => `[default${rank % 8}]:${banner}`), STARTS.megatron, steps])),
    ).toEqual([]);
    const interleaved = STARTS.megatron.flatMap((line) => range(0, 7).map((rank) => `${rank}: ${line}`));
    expect(startsOf(readComposed([interleaved, steps.map((line) => `7: ${line}`)]))).toEqual([]);
  });

  it('is not begun by an evaluation, an epoch or a rank that lags', () => {
    const evaluated = range(1, 20).flatMap((i) => [
      iteration(i),
      ...(i % 5 === 0 ? range(1, 5).map((j) => `Evaluating iter ${j}/5`) : []),
    ]);
    expect(startsOf(readComposed([STARTS.megatron, evaluated, FINISHED.megatron]))).toEqual([]);
    const epochs = [0, 1, 2].flatMap((epoch) =>
      range(0, 19).map(
        (i) =>
          `Training epoch ${epoch}, iteration ${i}/19 | lr: 0.1 | global_step: ${epoch * 20 + i} | reduced_train_loss: 1.1 | train_step_timing in s: 2.5`,
      ),
    );
    const log = readComposed([STARTS.nemo, epochs]);
    expect(startsOf(log)).toEqual([]);
    expect(iterationsOf(log).at(-1)).toBe(60);
    const lagging = range(5, 30).flatMap((i) => [iteration(i), ...(i > 8 ? [iteration(i - 3)] : [])]);
    expect(startsOf(readComposed([lagging]))).toEqual([]);
  });

  it('is that of an end as planned, or of a launcher, in front of its iterations', () => {
    const steps = (from: number, to: number): string[] => range(from, to).map((i) => iteration(i));
    for (const end of Object.values(FINISHED)) {
      expect(startsOf(readComposed([['a warning of standard error', end], steps(1, 20)])), end).toEqual([]);
      // What starts between them is another launch.
      expect(startsOf(readComposed([[end], STARTS.megatron, steps(1, 20)])), end).toEqual([2]);
    }
    expect(startsOf(readComposed([['Killing subprocess 4711'], steps(1, 20)]))).toEqual([]);
    // A bar on standard error, its end, and what standard output kept.
    const bar = range(1, 20).map((i) => ` ${i * 5}%|##        | ${i}/20 [00:01<00:20,  1.00it/s]`);
    expect(startsOf(readComposed([bar, [FINISHED.nemo], range(1, 20).map(STEPS.nemo)]))).toEqual([]);
  });

  it('is not begun by what was printed before the error, and flushed after it', () => {
    expect(
      startsOf(readComposed([ENDS[0]![2].slice(0, 4), STARTS.megatron, range(1, 5).map((i) => iteration(i))])),
    ).toEqual([]);
  });
});

describe('an iteration number far from its neighbours', () => {
  it.each([
    ['above them', [...range(1, 10), 1_100_000, ...range(12, 20)], 20, 1],
    ['above them, below the target', [...range(10, 100, 10), 4900, ...range(120, 200, 10)], 200, 10],
    ['below them', [...range(110, 150), 15, ...range(152, 170)], 170, 110],
    ['the first of a launch, once', [...range(110, 150), 1, ...range(152, 170)], 170, 110],
    ['the last, above the target', [...range(1, 15), 160_160], 15, 1],
  ])('is noticed and left out: %s', (_name, numbers, last, lowest) => {
    const log = readComposed([numbers.map((i) => iteration(i))]);
    const kept = iterationsOf(log);
    expect(startsOf(log)).toEqual([]);
    expect(Math.max(...kept)).toBe(last);
    expect(Math.min(...kept)).toBe(lowest);
    expect(log.notes.map(({ kind }) => kind)).toEqual(['far_iteration']);
  });

  it('is not one where the log goes on from it', () => {
    const log = readComposed([[...range(100, 110), ...range(4000, 4010)].map((i) => iteration(i))]);
    expect(iterationsOf(log)).toHaveLength(22);
    expect(log.notes).toEqual([]);
  });
});
