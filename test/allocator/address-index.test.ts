import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SEED } from '../support/level.js';
import { AddressIndex } from './walk/address-index.js';

describe('AddressIndex', () => {
  it('agrees with a plain sorted list through many inserts and deletes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 3000 }), fc.boolean()), {
          minLength: 1,
          maxLength: 4000,
          size: 'max',
        }),
        (steps) => {
          const index = new AddressIndex();
          const model = new Map<number, number>();
          for (const [key, remove] of steps) {
            const at = key * 512;
            if (remove) {
              expect(index.delete(at)).toBe(model.get(at) ?? -1);
              model.delete(at);
            } else if (!model.has(at)) {
              index.floor(at);
              index.insertAtCursor(at, key);
              model.set(at, key);
            }
            expect(index.floor(at) === key).toBe(model.has(at));
          }
          const keys = [...model.values()].sort((a, b) => a - b);
          expect(index.size).toBe(keys.length);
          expect([...index.slotsInOrder()]).toEqual(keys);
          for (let probe = 0; probe <= 3000; probe += 37) {
            const below = keys.filter((key) => key * 512 <= probe * 512 + 100);
            expect(index.floor(probe * 512 + 100)).toBe(below.at(-1) ?? -1);
            expect(index.afterCursor()).toBe(keys[below.length] ?? -1);
          }
        },
      ),
      { numRuns: 60, seed: SEED },
    );
  });
});
