/** The long form of `hostile-traces.test.ts`. */
import './hostile-traces.test.js';
