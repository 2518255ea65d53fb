/** Properties draw their cases from the seed of the commit: a run that failed fails again. */
import fc from 'fast-check';
import { SEED } from '../level.js';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });
