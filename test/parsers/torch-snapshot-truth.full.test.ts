/** The long form of `torch-snapshot-truth.test.ts`. */
import './torch-snapshot-truth.test.js';
