/** Every statement of the five guides, in their order. */
import { MAPPING } from './mapping.js';
import { MEMORY } from './memory.js';
import { MEMORY_CASES } from './memory-cases.js';
import { MEMORY_TUNING } from './memory-tuning.js';
import { OFFLOADING } from './offloading.js';
import { OVERLAP } from './overlap.js';
import { RECOMPUTE } from './recompute.js';
import { RECOMPUTE_LIMITS } from './recompute-limits.js';
import { SCALE } from './scale.js';
import { SEQUENCES } from './sequences.js';
import { SHARDING } from './sharding.js';
import type { Statement } from './statement.js';

export const STATEMENTS: readonly Statement[] = [
  ...MEMORY_TUNING,
  ...MEMORY_CASES,
  ...RECOMPUTE,
  ...RECOMPUTE_LIMITS,
  ...OFFLOADING,
  ...MAPPING,
  ...SHARDING,
  ...OVERLAP,
  ...SCALE,
  ...MEMORY,
  ...SEQUENCES,
];
