/** The long form of `forward-walk.test.ts`. */
import './forward-walk.test.js';
