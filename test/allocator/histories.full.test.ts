/** The long form of `histories.test.ts`. */
import './histories.test.js';
