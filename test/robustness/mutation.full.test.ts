/** The long form of `mutation.test.ts`. */
import './mutation.test.js';
