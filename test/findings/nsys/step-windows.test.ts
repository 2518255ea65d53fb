/** Which ranges are taken for training steps, and which never are: `step-windows.yaml`. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { demandStepRange, steadyWindow, stepWindows } from '../../../src/derive/nsys/step-windows.js';
import type { NsysStep } from '../../../src/model/results/nsys.js';
import { type Range, range, scratchStore } from './stored.js';

type Drawn = Partial<Range> & { every?: number; first?: number; modulo?: number; ops?: number };
type Written = readonly [count: number, text: string, from: number, to: number | null, more?: Drawn];

interface Case {
  readonly is: string;
  readonly ranges: readonly Written[];
  readonly ops?: number;
  readonly name?: string;
  /** `METHOD: TEXT`; undefined: not looked at. */
  readonly by?: string | null;
  readonly text?: string;
  readonly count?: number;
  readonly numbers?: readonly number[];
  readonly steps?: readonly (readonly number[])[];
  readonly of?: readonly (readonly number[])[];
  /** Texts of candidates that were rejected as phases. */
  readonly phases?: readonly string[];
}

const FILE = parse(readFileSync(new URL('step-windows.yaml', import.meta.url), 'utf8')) as {
  readonly numbered: readonly { readonly from: string; readonly texts: readonly string[] }[];
  readonly combined: readonly (readonly string[])[];
  readonly cases: readonly Case[];
} & Readonly<Record<'unnumbered' | 'not_steps' | 'ends' | 'modules', readonly string[]>>;

const scratch = scratchStore();

const drawn = ([count, text, from, to, options = {}]: Written): Range[] => {
  const { every = 100, first = 0, modulo = Number.POSITIVE_INFINITY, ops = 0, ...more } = options;
  const ranges = Array.from({ length: count }, (_, i) => {
    const at = i * every;
    return range(text.replace('$', String((first + i) % modulo)), from + at, to === null ? null : to + at, more);
  });
  return [...ranges, ...operators(ops, more)];
};
/** In each of `count` steps of 100 ns. */
const operators = (count: number, more: Partial<Range> = {}): Range[] =>
  Array.from({ length: count }, (_, i) => [
    range(`aten::linear, op_id = ${3 * i + 3}`, i * 100 + 2, i * 100 + 90, more),
    range(`aten::mm, op_id = ${3 * i + 4}`, i * 100 + 5, i * 100 + 85, more),
  ]).flat();
const windows = async (ranges: readonly Written[], ops = 0, name?: string) =>
  stepWindows(scratch.store, await scratch.ranges([...ranges.flatMap(drawn), ...operators(ops)]), name);
const spans = (steps: readonly NsysStep[]) => steps.map(({ index, start_ns, end_ns }) => [index, start_ns, end_ns]);
/** The text without additions of profilers, # for each number. */
const plain = (text: string): string =>
  text
    .replace(/, op_id = .*$/, '')
    .replace(/^\[pl\]\[\w+\]/, '')
    .replace(/\d+/g, '#');

describe('steps', () => {
  it.each(FILE.numbered.flatMap(({ from, texts }) => texts.map((text) => [text, from])))(
    'are named %s (%s)',
    async (text) => {
      const named = (i: number): string => text!.replace('100', String(i)).replace('{op}', String(i * 3 + 2));
      const ranges = [0, 1, 2, 3].map((i): Written => [1, named(100 + i), i * 100, i * 100 + 95]);
      const { steps, by } = await windows(ranges, 4);
      expect(by).toEqual({ by: 'range', text: plain(named(100)) });
      expect(spans(steps)).toEqual([0, 1, 2, 3].map((i) => [100 + i, i * 100, i * 100 + 95]));
    },
  );

  it.each(FILE.unnumbered)('are named %s, without numbers', async (text) => {
    const isOfProcess = text.endsWith(' of the process');
    const name = text.replace(' of the process', '');
    const { steps, by } = await windows([[3, name, 0, 95, isOfProcess ? { type: 'start_end' } : {}]], 3);
    expect(by).toEqual({ by: 'range', text: plain(name) });
    expect(spans(steps)).toEqual([1, 2, 3].map((i) => [i, i * 100 - 100, i * 100 - 5]));
  });

  it.each(FILE.not_steps)('are not named "%s"', async (text) => {
    const { steps, by } = await windows([
      [2, text, 0, 10],
      [1, 'run', 0, 10_000],
    ]);
    expect({ steps, by }).toEqual({ steps: [], by: null });
  });

  it.each(FILE.ends)('end with %s', async (text) => {
    const { steps, by } = await windows([[4, text, 91, 94]], 4);
    expect(by).toEqual({ by: 'anchor', text: plain(text) });
    // From the end of one to the end of the next: where the first began nobody knows.
    expect(spans(steps)).toEqual([1, 2, 3].map((i) => [i, i * 100 - 6, i * 100 + 94]));
  });

  it.each(FILE.combined)('are %s, %s and %s together', async (...texts) => {
    const every = 20 * texts.length;
    const { steps, by } = await windows(texts.map((text, i): Written => [5, text, 20 * i, 20 * i + 20, { every }]));
    expect(by).toEqual({ by: 'combination', text: texts.join(' + ') });
    expect(spans(steps)).toEqual([0, 1, 2, 3, 4].map((i) => [i + 1, i * every, (i + 1) * every]));
  });

  it.each(FILE.modules)('are never the modules %s', async (name) => {
    const modulo = name.includes('%4') ? 4 : 16;
    const { by, steps, candidates } = await windows([[16, name.replace('%4', '$'), 0, 10, { every: 10, modulo }]]);
    expect([by, steps]).toEqual([null, []]);
    const reason = name === 'TransformerLayer' ? 'module' : 'module_index';
    expect(candidates.map((one) => [one.status, one.reason])).toEqual([['rejected', reason]]);
  });

  it.each(FILE.cases)('are $is', async ({ ranges, ops, name, by, text, count, numbers, phases, ...expected }) => {
    const actual = await windows(ranges, ops, name);
    const { steps, candidates } = actual;
    if (by !== undefined) expect(actual.by && `${actual.by.by}: ${actual.by.text}`).toBe(by);
    if (count !== undefined) expect(steps).toHaveLength(count);
    if (numbers !== undefined) expect(steps.map(({ index }) => index)).toEqual(numbers);
    if (expected.steps !== undefined) expect(spans(steps)).toEqual(expected.steps);
    if (expected.of !== undefined) expect(steps.map(({ pid, index }) => [pid, index])).toEqual(expected.of);
    const rejected = candidates.filter(({ reason }) => reason === 'phase');
    if (phases !== undefined) expect(rejected.map((one) => one.text)).toEqual(phases);
    if (text === undefined) return;
    expect(actual.by!.text).toBe(text);
    expect(candidates[0]).toMatchObject({ status: 'chosen', reason: 'requested', text });
  });

  it('that the user names must be in the report', async () => {
    const found = await windows(FILE.cases.find(({ is }) => is === 'named by the user')!.ranges, 4, 'nothing');
    expect([found.by, found.steps]).toEqual([null, []]);
    expect(() => demandStepRange([{ steps_by: found.by, step_candidates: found.candidates }], 'nothing')).toThrow(
      /--step-range "nothing": no such range; ranges that repeat: .*"iteration #"/,
    );
  });

  it('have candidates that were chosen, could be, and are none for a reason', async () => {
    const { candidates } = await windows(
      [
        [4, 'iteration $', 0, 95],
        [4, 'optimizer', 91, 94],
        [4, 'forward', 1, 40],
        [2, 'epoch $', -1, 198, { every: 200 }],
      ],
      4,
    );
    expect(candidates.map(({ status, method, text, reason }) => [status, method, text, reason])).toEqual([
      ['chosen', 'range', 'iteration #', 'named'],
      ['possible', 'anchor', 'optimizer', 'ends'],
      ['rejected', null, 'epoch #', 'epoch'],
      ['rejected', null, 'forward', 'phase'],
    ]);
    expect(candidates[0]).toMatchObject({ count: 4, share: 380 / 395, is_of_time: true });
  });
});

it('the steady window leaves the first step out, and needs two', () => {
  const step = (index: number, pid: number): NsysStep => ({
    ...{ index, pid, start_ns: index * 100, end_ns: index * 100 + 90 },
  });
  expect(steadyWindow([])).toBeUndefined();
  expect(steadyWindow([step(1, 1)])).toBeUndefined();
  const window = { fromNs: 200, toNs: 390, steps: 2 };
  expect(steadyWindow([step(1, 1), step(2, 1), step(3, 1), step(1, 2)])).toEqual(window);
});
