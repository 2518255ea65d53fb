import type { ScalarInfo } from '../../src/model/results/format.js';
import { SCALAR_PRODUCERS, type ScalarMeaning } from '../../src/text/scalars/scalar-names.js';

/** Names of scalars that this version knows, by producer, in the order in which they are asked. */
export function listScalarNames(): ScalarInfo[] {
  return SCALAR_PRODUCERS.map(({ producer, versions, source, names }) => ({
    producer,
    versions,
    source,
    names: names.map(({ tag, pattern, meaning }) => ({
      name: tag ?? pattern!,
      is_pattern: tag === undefined,
      becomes: meaningWords(meaning),
    })),
  }));
}

function meaningWords(meaning: ScalarMeaning): string {
  switch (meaning.as) {
    case 'field':
      return `iteration: ${meaning.field}`;
    case 'other':
      return `iteration: ${meaning.name}`;
    case 'memory':
      return `memory: ${meaning.metric}, ${meaning.unit}`;
    case 'torch-stat':
      return 'memory: the key of torch.cuda.memory_stats()';
    case 'value':
      return `${meaning.name}, ${meaning.unit}`;
    case 'not by iteration':
      return 'kept without an iteration';
    case 'step':
      return 'the step of what was logged with it';
  }
}
