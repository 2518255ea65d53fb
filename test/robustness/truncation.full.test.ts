/** The long form of `truncation.test.ts`. */
import './truncation.test.js';
