/** The long form of `state.test.ts`. */
import './state.test.js';
