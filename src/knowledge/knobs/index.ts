/** Every knob, grouped by what it bears on. */
import { ACTIVATIONS } from './activations.js';
import { OFFLOAD } from './activations-offload.js';
import { COMMUNICATION } from './communication.js';
import { ENVIRONMENT } from './environment.js';
import type { Knob, KnobGroup } from './knob.js';
import { MAPPING } from './mapping.js';
import { SHARDING } from './mapping-sharding.js';
import { PRECISION } from './precision.js';
import { RUNTIME } from './runtime.js';
import { FUSION } from './runtime-fusion.js';

export const KNOB_GROUPS: readonly { readonly id: KnobGroup; readonly title: string }[] = [
  { id: 'environment', title: 'Process environment and launch' },
  { id: 'mapping', title: 'Parallel mapping' },
  { id: 'communication', title: 'Communication' },
  { id: 'precision', title: 'Precision and optimizer state' },
  { id: 'activations', title: 'Activations: recompute and offload' },
  { id: 'runtime', title: 'Host overhead, graphs, fusion, attention, data, profiling, measurement' },
];

export const KNOBS: readonly Knob[] = [
  ...ENVIRONMENT,
  ...MAPPING,
  ...SHARDING,
  ...COMMUNICATION,
  ...PRECISION,
  ...ACTIVATIONS,
  ...OFFLOAD,
  ...RUNTIME,
  ...FUSION,
];
