/** Every knob, grouped by what it affects. */
import { loadData } from '../load-data.js';
import { type Knob, type KnobData, type KnobGroup, knobOf } from './knob.js';

export const KNOB_GROUPS: readonly { readonly id: KnobGroup; readonly title: string }[] = [
  { id: 'environment', title: 'Process environment and launch' },
  { id: 'mapping', title: 'Parallel mapping' },
  { id: 'communication', title: 'Communication' },
  { id: 'precision', title: 'Precision and optimizer state' },
  { id: 'activations', title: 'Activations: recompute and offload' },
  { id: 'runtime', title: 'Host overhead, graphs, fusion, attention, data, profiling, measurement' },
];

export const KNOBS: readonly Knob[] = KNOB_GROUPS.flatMap(({ id: group }) =>
  (loadData(`knobs/${group}`) as readonly KnobData[]).map((row) => knobOf(group, row)),
);
