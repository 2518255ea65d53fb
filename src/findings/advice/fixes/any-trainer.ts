/** What every trainer on PyTorch can change, where the settings of Megatron mean nothing. */
import type { Looked } from '../../../derive/settings/facts.js';
import { isOfWeights } from '../../../derive/stacks/failing-activity.js';
import { failingActivityOf } from '../failing.js';
import { type FixContext, type FixSpec, fixSpec, freeByDesign, isOlder, unmeasured } from '../fix.js';
import { hasDeepSpeed, isLora, isShardedRun, trainerLines, trainerOf } from '../trainer.js';

const NOTHING = { settings: {}, env: {} };
const unknownSaving = (text: string) => ({ bytes: null, by: null, text });

const isConfigured = ({ value }: { readonly value: string | null }): boolean =>
  value !== null && !/^(?:0|False|None|none|)$/.test(value);

/** The setting by which activations are checkpointed already. */
export function checkpointing({ view, situation }: Pick<FixContext, 'view' | 'situation'>): Looked | undefined {
  const checkpoint = view.setting('checkpoint_activations');
  const set = [checkpoint, view.setting('recompute_granularity')].find(isConfigured);
  const isOff = checkpoint.by === 'told' || isConfigured(view.setting('disable_gradient_checkpointing'));
  return set ?? (trainerOf(situation)?.checkpoints === true && !isOff ? { ...checkpoint, by: 'default' } : undefined);
}

const smaller = fixSpec('smaller-batch', ({ view }) => {
  const size = Number(view.setting('micro_batch_size').value);
  if (size === 1) return [];
  return [
    {
      id: 'smaller-batch',
      title: `a smaller batch size on each GPU${size > 1 ? ` (now ${size})` : ''}, with gradient accumulation for the rest`,
      change: NOTHING,
      requires: ['a batch of more than one sample'],
      saving: unknownSaving('activations go with the batch: half of it keeps about half of them'),
      cost: unmeasured('smaller kernels and more of them; no source has a figure'),
      python: ['# half the batch size on each GPU, twice the accumulation steps'],
    },
  ];
});

const checkpointBlocks = fixSpec('activation-checkpointing', (context) => {
  if (checkpointing(context) !== undefined) return [];
  return [
    {
      id: 'activation-checkpointing',
      title: 'activation checkpointing of the repeated blocks',
      change: NOTHING,
      saving: unknownSaving('only the inputs of the blocks are kept; what is inside them is computed again'),
      cost: unmeasured('the forward pass of these blocks runs twice; no source has a figure'),
      python: [
        'from torch.utils.checkpoint import checkpoint',
        'x = checkpoint(block, x, use_reentrant=False)  # in forward(), for each repeated block',
      ],
    },
  ];
});

const setToNone = fixSpec('set-to-none', ({ view }) => {
  if (!isOlder(view, 'torch', '2.0')) return [];
  return [
    {
      id: 'set-to-none',
      title: 'optimizer.zero_grad(set_to_none=True)',
      change: NOTHING,
      saving: unknownSaving(
        'gradients are not kept during the next forward pass; torch 2.0 and newer do so by themselves',
      ),
      cost: freeByDesign(),
      python: ['optimizer.zero_grad(set_to_none=True)'],
    },
  ];
});

const shard = fixSpec('shard-state', (context) => {
  const { view, situation } = context;
  if (isShardedRun(situation, view) || context.config.world === 1) return [];
  // As the weights are made, or loaded, the fix for just that takes its place.
  if (isOfWeights(failingActivityOf(situation))) return [];
  const [first = ''] = trainerLines(situation, view, 'shard-state');
  const how =
    hasDeepSpeed(situation, view) || /deepspeed/.test(first)
      ? 'ZeRO stage 3'
      : first === ''
        ? 'FSDP, or ZeRO stage 3'
        : 'FSDP';
  return [
    {
      id: 'shard-state',
      title: isLora(situation)
        ? `the frozen weights sharded over the GPUs (${how}): LoRA leaves hardly any gradients and optimizer states`
        : `parameters, gradients and optimizer states sharded over the GPUs (${how})`,
      change: NOTHING,
      requires: ['more than one GPU'],
      saving: unknownSaving(
        isLora(situation) ? 'each GPU keeps its share of the weights' : 'each GPU keeps its share of them',
      ),
      cost: unmeasured('parameters are gathered in every pass; no source has a figure'),
      python: [
        'from torch.distributed.fsdp import fully_shard  # torch 2.6 and newer',
        'for block in blocks:',
        '    fully_shard(block)  # each repeated block is gathered by itself',
        'fully_shard(model)',
      ],
    },
  ];
});

export const ANY_TRAINER_FIXES: readonly FixSpec[] = [smaller, checkpointBlocks, setToNone, shard];
