/** The long form of `planted.test.ts`. */
import './planted.test.js';
