/** The model that the small stories train. */
import type { RunPlan } from '../run.js';

export const LLAMA3_8B: RunPlan['model'] = {
  name: 'llama3-8b',
  layers: 32,
  hidden: 4096,
  feedForward: 14_336,
  heads: 32,
  queryGroups: 8,
  vocabulary: 128_256,
};
