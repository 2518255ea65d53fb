/** A fixed share of the hostile files with each change; all of them in `hostile.nightly.test.ts`. */

import { type Hostile, testHostile } from './hostile.js';
import { FOREIGN } from './hostile-files.js';
import { BOMBS, ODD, WRONG } from './hostile-pickles.js';

const share = (cases: readonly Hostile[], every: number): Hostile[] => cases.filter((_, i) => i % every === 0);

testHostile('bombs', share(BOMBS, 9));
testHostile('odd, but legal', share(ODD, 5));
testHostile('wrong in one place', share(WRONG, 5));
testHostile('files of others', share(FOREIGN, 4));
