/** The long form of `every-moment.test.ts`. */
import './every-moment.test.js';
