/** The long form of `verify-fix.test.ts`. */
import './verify-fix.test.js';
