/** In which forms the lines of a fix are shown: those of the run's framework. */

import type { Framework } from '../../derive/settings/facts.js';
import type { PasteForm } from '../../model/results/advise.js';
import type { Situation } from './situation.js';

const FORMS: Readonly<Record<Framework, readonly PasteForm[]>> = {
  'megatron-bridge': ['sbatch', 'megatron_bridge'],
  'megatron-lm': ['sbatch', 'megatron_lm'],
  nemo: ['sbatch', 'nemo'],
};

const EVERY_FORM: readonly PasteForm[] = ['sbatch', 'megatron_bridge', 'megatron_lm', 'nemo'];

/** `asked`: the framework that a user names, or `all`. Where that of a Megatron run is not known, the forms of each. */
export function pasteForms(
  { isMegatron, facts }: Pick<Situation, 'isMegatron' | 'facts'>,
  asked?: string,
): readonly PasteForm[] {
  if (asked === undefined && !isMegatron) return ['sbatch', 'trainer', 'python'];
  return FORMS[(asked ?? facts.framework.name) as Framework] ?? EVERY_FORM;
}
