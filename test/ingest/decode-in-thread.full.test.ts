/** The long form of `decode-in-thread.test.ts`. */
import './decode-in-thread.test.js';
