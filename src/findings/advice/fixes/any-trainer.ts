/** What every trainer on PyTorch can change, where the settings of Megatron mean nothing. */
import type { Looked } from '../../../derive/settings/facts.js';
import { isOfWeights } from '../../../derive/stacks/failing-activity.js';
import { failingActivityOf } from '../failing.js';
import { type FixCode, type FixContext, unknownSaving } from '../fix.js';
import { hasDeepSpeed, isLora, isShardedRun, trainerLines, trainerOf } from '../trainer.js';

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
      title: `a smaller batch size on each GPU${size > 1 ? ` (now ${size})` : ''}, with gradient accumulation for the rest`,
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
        title:
          'parameters, gradients and optimizer states split further: the distributed optimizer, more tensor or pipeline parallelism, or Megatron-FSDP',
        saving: unknownSaving('each GPU keeps its share of them'),
        python: [],
      };
    const [first = ''] = trainerLines(situation, view, 'shard-state');
    const how =
      hasDeepSpeed(situation, view) || /deepspeed/.test(first)
        ? 'ZeRO stage 3'
        : first === ''
          ? 'FSDP, or ZeRO stage 3'
          : 'FSDP';
    return {
      title: isLora(situation)
        ? `the frozen weights sharded over the GPUs (${how}): LoRA leaves hardly any gradients and optimizer states`
        : `parameters, gradients and optimizer states sharded over the GPUs (${how})`,
      saving: unknownSaving(
        isLora(situation) ? 'each GPU keeps its share of the weights' : 'each GPU keeps its share of them',
      ),
    };
  },
};
