/** The long form of `first-screen.test.ts`. */
import './first-screen.test.js';
