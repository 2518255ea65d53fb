/** The long form of `generated-incidents.test.ts`. */
import './generated-incidents.test.js';
