/** Blocks by stack and size: a line makes tensors of several shapes, and those of one shape share their fate. */
import { AddressTable } from '../../allocator/walk/address-table.js';
import { type Lives, sizeOf, stackCount } from './lives.js';

export interface SizeClasses {
  readonly count: number;
  /** By row of the lives. */
  readonly classOf: Int32Array;
}

/** O(blocks). */
export function sizeClasses(lives: Lives): SizeClasses {
  const sizes = new AddressTable();
  const classes = new AddressTable();
  let sizeCount = 0;
  let count = 0;
  const classOf = new Int32Array(lives.count);
  // By stack + 1: of its block before. Most stacks make one size, or the same many times over.
  const lastClass = new Int32Array(stackCount(lives) + 1);
  const lastSize = new Float64Array(lastClass.length).fill(-1);
  for (let row = 0; row < lives.count; row += 1) {
    const stack = lives.stackId[row]! + 1;
    const size = sizeOf(lives, row);
    if (lastSize[stack] !== size) {
      let number = sizes.get(size);
      if (number < 0) {
        number = sizeCount++;
        sizes.set(size, number);
      }
      // Numbers of sizes are below the number of blocks.
      const key = stack * lives.count + number;
      let known = classes.get(key);
      if (known < 0) {
        known = count++;
        classes.set(key, known);
      }
      lastSize[stack] = size;
      lastClass[stack] = known;
    }
    classOf[row] = lastClass[stack]!;
  }
  return { count, classOf };
}
