/** The long form of `torch-snapshot-json.test.ts`. */
import './torch-snapshot-json.test.js';
