/** The long form of `odd-data.test.ts`. */
import './odd-data.test.js';
