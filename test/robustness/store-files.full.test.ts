/** The long form of `store-files.test.ts`. */
import './store-files.test.js';
