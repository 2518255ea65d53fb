/** Bombs, odd and wrong pickles, and files of others: all that are known. */

import { testHostile } from './hostile.js';
import { FOREIGN } from './hostile-files.js';
import { BOMBS, ODD, WRONG } from './hostile-pickles.js';

testHostile('bombs', BOMBS);
testHostile('odd, but legal', ODD);
testHostile('wrong in one place', WRONG);
testHostile('files of others', FOREIGN);
