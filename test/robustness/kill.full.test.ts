/** The long form of `kill.test.ts`. */
import './kill.test.js';
