import { Shapes } from './trace';

/** Pools as walks number them: 0 for the default pool, the others from 1; −1 is unknown. See `pool-numbers.ts`. */
export class Pools {
  /** The file's number of the default pool; −1 = none. */
  constructor(public defaultPool: i32) {}

  toWalk(pool: i32): i32 {
    return pool < 0 ? -1 : pool === this.defaultPool ? 0 : pool + 1;
  }

  fromWalk(pool: i32): i32 {
    return pool > 0 ? pool - 1 : this.defaultPool;
  }

  isNamedBy(shapes: Shapes): bool {
    for (let id = 0; id < shapes.count; id++) if (this.toWalk(shapes.pool[id]) > 0) return true;
    return false;
  }
}
