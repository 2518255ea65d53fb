/** The long form of `generated-histories.test.ts`. */
import './generated-histories.test.js';
