/** In which forms the lines of a fix are shown: those of the run's framework. */

import type { Framework } from '../../derive/settings/facts.js';
import { pasteLines } from '../../knowledge/spellings.js';
import type { AdviceChange, PasteForm } from '../../model/results/advise.js';
import { type Sentence, sentencesOf } from '../../model/statement.js';
import type { Situation } from './situation.js';

const adviceText = sentencesOf('advice', 'figures');

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

const NAMES: Readonly<Record<Framework, string>> = {
  'megatron-bridge': 'Megatron Bridge',
  'megatron-lm': 'Megatron-LM',
  nemo: 'NeMo',
};

/**
 * Settings of a change that the configuration of the run's framework lacks; null where it has all. The number
 * of GPUs is the scheduler's, and the number of layers alone switches offload on.
 */
export function unplacedText({ settings }: AdviceChange, framework: string | null): Sentence | null {
  const form = FORMS[framework as Framework]?.at(-1);
  if (form === undefined) return null;
  const keys = Object.entries(settings).filter(
    ([key, value]) =>
      value !== null &&
      !['world_size', 'cpu_offloading'].includes(key) &&
      pasteLines({ settings: { [key]: value }, env: {} })[form].length === 0,
  );
  if (keys.length === 0) return null;
  return adviceText('unplaced', {
    framework: NAMES[framework as Framework],
    settings: keys.map(([key, value]) => `${key}=${value}`),
  });
}
