/** What every trainer on PyTorch can change, where the settings of Megatron mean nothing. */
import type { Looked } from '../../../derive/settings/facts.js';
import { isOfWeights } from '../../../derive/stacks/failing-activity.js';
import { sentencesOf } from '../../../model/statement.js';
import { failingActivityOf } from '../failing.js';
import { type FixCode, type FixContext, unknownSaving } from '../fix.js';
import { hasDeepSpeed, isLora, isShardedRun, trainerLines, trainerOf } from '../trainer.js';

const fixText = sentencesOf('fixes');

const isConfigured = ({ value }: { readonly value: string | null }): boolean =>
  value !== null && !/^(?:0|False|None|none|)$/.test(value);

/** The setting by which activations are checkpointed already. */
export function checkpointing({ view, situation }: Pick<FixContext, 'view' | 'situation'>): Looked | undefined {
  const checkpoint = view.setting('checkpoint_activations');
  const set = [checkpoint, view.setting('recompute_granularity')].find(isConfigured);
  const isOff = checkpoint.by === 'told' || isConfigured(view.setting('disable_gradient_checkpointing'));
  return set ?? (trainerOf(situation)?.checkpoints === true && !isOff ? { ...checkpoint, by: 'default' } : undefined);
}

export const ANY_TRAINER_FIXES: FixCode = {
  'smaller-batch': ({ view }) => {
    const size = Number(view.setting('micro_batch_size').value);
    if (size === 1) return [];
    return {
      title: fixText('smaller_batch', { known: size > 1, size }),
    };
  },

  'activation-checkpointing': (context) => checkpointing(context) === undefined,

  'shard-state': (context) => {
    const { view, situation } = context;
    if (isShardedRun(situation, view) || context.config.world === 1) return [];
    // As the weights are made, or loaded, the fix for just that takes its place.
    if (isOfWeights(failingActivityOf(situation))) return [];
    if (situation.isMegatron)
      return {
        title: fixText('split_further'),
        saving: unknownSaving(fixText('share_of_all')),
        python: [],
      };
    const [first = ''] = trainerLines(situation, view, 'shard-state');
    const how =
      hasDeepSpeed(situation, view) || /deepspeed/.test(first)
        ? fixText('zero3')
        : first === ''
          ? fixText('fsdp_or_zero3')
          : 'FSDP';
    return {
      title: isLora(situation) ? fixText('frozen_sharded', { how }) : fixText('state_sharded', { how }),
      saving: unknownSaving(isLora(situation) ? fixText('share_of_weights_kept') : fixText('share_of_all')),
    };
  },
};
