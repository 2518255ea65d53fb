/** The long form of `trace.test.ts`. */
import './trace.test.js';
