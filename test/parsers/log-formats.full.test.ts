/** The long form of `log-formats.test.ts`. */
import './log-formats.test.js';
