/** Buckets of a course: each is a true state, and the highest one of its entries. Held against states one by one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BlockColumns,
  columnStart,
  courseOf,
  type LevelRange,
  OPEN_SEQ,
  type SegmentColumns,
} from '../../../src/model/picture/levels.js';
import { SEED } from '../../support/level.js';

const LAST = 60;
const COMPONENTS = 3;

type Numbers = Readonly<Record<'from' | 'to' | 'pending' | 'bytes' | 'component', number>>;
interface Life extends Numbers {
  readonly isPrivate: boolean;
}

const life: fc.Arbitrary<Life> = fc
  .record({
    from: fc.integer({ min: -1, max: LAST }),
    length: fc.option(fc.integer({ min: 1, max: LAST }), { nil: undefined }),
    wait: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    bytes: fc.integer({ min: 1, max: 50 }).map((units) => units * 512),
    component: fc.integer({ min: 0, max: COMPONENTS - 1 }),
    isPrivate: fc.boolean(),
  })
  .map(({ from, length, wait, ...others }) => {
    const to = length === undefined || from + length > LAST ? OPEN_SEQ : from + length;
    const end = Math.min(to, LAST + 1);
    return { from, to, pending: wait === undefined ? to : Math.max(from, end - wait), ...others };
  });

const columnsOf = (lives: readonly Life[]): BlockColumns => ({
  count: lives.length,
  from: Int32Array.from(lives, (one) => one.from),
  to: Int32Array.from(lives, (one) => one.to),
  pending: Int32Array.from(lives, (one) => one.pending),
  bytes: Float64Array.from(lives, (one) => one.bytes),
  component: Uint8Array.from(lives, (one) => one.component),
  isPrivate: Uint8Array.from(lives, (one) => (one.isPrivate ? 1 : 0)),
});

const segmentsOf = (lives: readonly Life[]): SegmentColumns => ({ ...columnsOf(lives) });

/** All figures of the state after one entry, from the definition. */
function stateAfter(blocks: readonly Life[], segments: readonly Life[], seq: number) {
  const live = blocks.filter(({ from, to }) => from <= seq && to > seq);
  const reserved = segments.filter(({ from, to }) => from <= seq && to > seq);
  const sum = (lives: readonly Life[]): number => lives.reduce((total, { bytes }) => total + bytes, 0);
  return {
    active: sum(live),
    pending: sum(live.filter(({ pending, to }) => pending <= seq && pending < to)),
    reserved: sum(reserved),
    privateReserved: sum(reserved.filter(({ isPrivate }) => isPrivate)),
    privateActive: sum(live.filter(({ isPrivate }) => isPrivate)),
    components: Array.from({ length: COMPONENTS }, (_, c) => sum(live.filter(({ component }) => component === c))),
  };
}

const range: fc.Arbitrary<LevelRange> = fc
  .tuple(fc.integer({ min: 0, max: LAST }), fc.integer({ min: 0, max: LAST }), fc.integer({ min: 1, max: 70 }))
  .map(([a, b, columns]) => {
    const [from, to] = [Math.min(a, b), Math.max(a, b)];
    return { from, to, columns: Math.min(columns, to - from + 1) };
  });

describe('levels', () => {
  it('keep, for each column, the first of its highest states, whole', () => {
    fc.assert(
      fc.property(
        fc.array(life, { maxLength: 40 }),
        fc.array(life, { maxLength: 10 }),
        fc.array(range, { minLength: 1, maxLength: 4 }),
        (blocks, segments, ranges) => {
          const bounds = { firstSeq: 0, lastSeq: LAST };
          const levels = courseOf(columnsOf(blocks), segmentsOf(segments), COMPONENTS, bounds)(ranges);
          for (const [i, level] of levels.entries()) {
            expect({ from: level.from, to: level.to, columns: level.columns }).toEqual(ranges[i]);
            for (let column = 0; column < level.columns; column += 1) {
              const first = column === 0 && level.from === 0 ? -1 : columnStart(level, column);
              const seqs = Array.from({ length: columnStart(level, column + 1) - first }, (_, n) => first + n);
              const states = seqs.map((seq) => stateAfter(blocks, segments, seq));
              const most = Math.max(...states.map(({ active }) => active));
              const at = seqs[states.findIndex(({ active }) => active === most)]!;
              expect(level.at[column]).toBe(at);
              const { active, pending, reserved, privateReserved, privateActive, components } = level;
              const figures = Object.entries({ active, pending, reserved, privateReserved, privateActive });
              expect({
                ...Object.fromEntries(figures.map(([name, values]) => [name, values[column]])),
                components: components.map((component) => component[column]),
              }).toEqual(stateAfter(blocks, segments, at));
              expect(level.activeLeast[column]).toBe(Math.min(...states.map(({ active }) => active)));
              expect(level.reservedMost[column]).toBe(Math.max(...states.map(({ reserved }) => reserved)));
            }
          }
        },
      ),
      { numRuns: 150, seed: SEED },
    );
  });
});
