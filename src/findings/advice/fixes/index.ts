/** Every fix there is, in the guides' order: the one list to read. */
import { fixesOf } from '../fix.js';
import { ACTIVATION_FIXES } from './activations.js';
import { ALLOCATOR_FIXES } from './allocator.js';
import { ANY_TRAINER_FIXES } from './any-trainer.js';
import { SITE_FIXES } from './failing-site.js';
import { HOST_FIXES } from './host.js';
import { OPTIMIZER_FIXES } from './optimizer.js';
import { PARALLEL_FIXES } from './parallel.js';
import { RECOMPUTE_FIXES } from './recompute.js';

export const FIXES = fixesOf({
  ...ALLOCATOR_FIXES,
  ...OPTIMIZER_FIXES,
  ...RECOMPUTE_FIXES,
  ...ACTIVATION_FIXES,
  ...PARALLEL_FIXES,
  ...HOST_FIXES,
  ...ANY_TRAINER_FIXES,
  ...SITE_FIXES,
});
