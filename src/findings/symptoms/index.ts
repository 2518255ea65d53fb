/** Every row of the guides' symptom tables, in their order. */
import { S24, S27, S29 } from './collectives.js';
import { S4, S5, S8, S9, S11, S12, S13, S14, S18, S19 } from './constraints.js';
import { S25 } from './host.js';
import { S28 } from './nvl72.js';
import { S1, S2, S3, S7, S15, S17 } from './oom.js';
import { S21, S22, S23 } from './overlap.js';
import { S6, S10, S16, S20 } from './speed.js';
import { S26 } from './stages.js';
import type { Symptom } from './symptom.js';

export const SYMPTOMS: readonly Symptom[] = [
  ...[S1, S2, S3, S4, S5, S6, S7, S8, S9, S10],
  ...[S11, S12, S13, S14, S15, S16, S17, S18, S19, S20],
  ...[S21, S22, S23, S24, S25, S26, S27, S28, S29],
];
