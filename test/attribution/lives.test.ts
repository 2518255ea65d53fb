/** Columns of blocks and their classes, against the rows they are made of. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LivesBuilder, NEVER, sizeOf } from '../../src/attribution/blocks/lives.js';
import { sizeClasses } from '../../src/attribution/blocks/size-classes.js';
import { poolNumbers } from '../../src/model/pool-numbers.js';
import { SEED } from '../support/level.js';

const POOLS = poolNumbers(
  new Map([
    [0, [0, 0]],
    [1, [0, 1]],
  ]),
);

const BLOCK = fc.record({
  bytes: fc.oneof(fc.constantFrom(1024, 5120), fc.integer({ min: 512, max: 2 ** 40 })),
  requested: fc.oneof(fc.constantFrom(null, 1000, 1024, 5000), fc.integer({ min: 1, max: 2 ** 40 })),
  pool: fc.constantFrom(-1, 0, 1),
  stack: fc.integer({ min: -1, max: 3 }),
});

const CASES = fc.record({
  blocks: fc.array(BLOCK, { minLength: 1, maxLength: 40 }),
  starts: fc.nat(10),
  batchRows: fc.integer({ min: 1, max: 9 }),
  seed: fc.integer(),
});

describe('LivesBuilder', () => {
  it('puts rows in the order of their blocks, in whatever order they come', () => {
    fc.assert(
      fc.property(CASES, ({ blocks, starts, batchRows, seed }) => {
        const rows = blocks.map((block, i) => ({ ...block, block: i, seq: i < starts ? -1 : i }));
        const shuffled = rows.toSorted((a, b) => ((a.block * 7919 + seed) % 13) - ((b.block * 7919 + seed) % 13));
        const builder = new LivesBuilder(rows.length);
        for (let from = 0; from < rows.length; from += batchRows) {
          const batch = shuffled.slice(from, from + batchRows);
          builder.add(batch.length, {
            block: Int32Array.from(batch, (row) => row.block),
            from_seq: Int32Array.from(batch, (row) => row.seq),
            to_seq: Int32Array.from(batch, () => NEVER),
            actual_bytes: Float64Array.from(batch, (row) => row.bytes),
            requested_bytes: Float64Array.from(batch, (row) => row.requested ?? Number.NaN),
            pool: Int32Array.from(batch, (row) => row.pool),
            stack_id: Int32Array.from(batch, (row) => row.stack),
            stack_origin: new Uint8Array(batch.length),
          });
        }
        const lives = builder.lives(100, POOLS);
        expect(lives.count).toBe(rows.length);
        expect(lives.starts).toBe(Math.min(starts, rows.length));
        expect([...lives.allocSeq]).toEqual(rows.map(({ seq }) => seq));
        expect([...lives.bytes]).toEqual(rows.map((row) => row.bytes));
        expect([...lives.requested]).toEqual(rows.map((row) => row.requested ?? -1));
        expect([...lives.stackId]).toEqual(rows.map(({ stack }) => stack));
        expect([...lives.pool]).toEqual(rows.map(({ pool }) => (pool === 1 ? 2 : 0)));

        const { classOf, count } = sizeClasses(lives);
        const keys = rows.map(({ stack }, row) => `${stack} ${sizeOf(lives, row)}`);
        const numbers = [...new Set(keys)];
        expect(count).toBe(numbers.length);
        expect([...classOf]).toEqual(keys.map((key) => numbers.indexOf(key)));
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});
