/** The long form of `triage.test.ts`. */
import './triage.test.js';
