/** Sizes of the job that no setting gives: derived from other sizes, a launcher's variables, or a banner in the log. */
import type { RunFacts } from '../../model/results/log.js';
import type { RawFacts } from './facts.js';

const SIZES: readonly (readonly [key: string, of: (facts: Sized) => number | null, origin: string])[] = [
  ['world_size', (facts) => facts.world_size, 'world_size'],
  ['tensor_model_parallel_size', ({ parallel }) => parallel.tp, 'parallel.tp'],
  ['pipeline_model_parallel_size', ({ parallel }) => parallel.pp, 'parallel.pp'],
  ['context_parallel_size', ({ parallel }) => parallel.cp, 'parallel.cp'],
  ['expert_model_parallel_size', ({ parallel }) => parallel.ep, 'parallel.ep'],
  ['data_parallel_size', ({ parallel }) => parallel.dp, 'parallel.dp'],
];

type Sized = Pick<RunFacts, 'world_size' | 'parallel' | 'origins'>;

/** Settings of which a size may follow that is not among them. */
export const SIZE_SETTINGS: readonly string[] = ['world_size', 'nnodes', 'data_parallel_size'];

/** The settings with those sizes; their place is unknown. */
export function withSizes(settings: RawFacts['settings'], facts: Sized): RawFacts['settings'] {
  const result = new Map(settings);
  for (const [key, of, name] of SIZES) {
    const value = of(facts);
    if (value === null || settings.get(key)?.value != null) continue;
    const origin = facts.origins[name] ?? 'the run';
    result.set(key, { value: String(value), raw_key: key, origin, file: '', line: 0 });
  }
  return result;
}
