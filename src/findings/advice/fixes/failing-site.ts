/** Fixes that act on what was being allocated, as the failing frame and the size of the request show it. */

import { isFullySharded, zeroStage } from '../../../derive/settings/sharded.js';
import { LARGE_SHARE } from '../../../derive/stacks/failing-activity.js';
import { activityData } from '../../../knowledge/activities.js';
import { GIB } from '../../../model/units.js';
import { failingActivityOf, failingSiteOf } from '../failing.js';
import { type FixContext, type FixSpec, fixSpec, type Proposal, unmeasured, wordOf } from '../fix.js';
import { attentionOf, hasDeepSpeed, hasImages, trainerLines, trainerOf } from '../trainer.js';

const NOTHING = { settings: {}, env: {} };
const NOT_MEASURED = unmeasured('no source has a figure');
const unknownSaving = (text: string) => ({ bytes: null, by: null, text });

/** A change of code, or one whose value only the user can choose. */
function proposal(id: string, title: string, saves: string, more: Partial<Proposal> = {}): Proposal {
  return { id, title, change: NOTHING, saving: unknownSaving(saves), cost: NOT_MEASURED, ...more };
}

const hasSettings = ({ situation }: FixContext): boolean => situation.isMegatron && situation.facts.settings.size > 0;
/** Megatron whose settings were not read: its flags can be named, their values not. */
const isBareMegatron = (context: FixContext): boolean => context.situation.isMegatron && !hasSettings(context);
const isMoeSite = ({ situation }: FixContext): boolean =>
  /moe|expert|grouped/i.test(failingSiteOf(situation)?.names['site'] ?? '');

/** Whether it is one of the first fixes of an activity. */
const actsOn = (fix: string, activity: string | null): boolean =>
  activityData().some(({ id, first }) => id === activity && first?.includes(fix));

const shardWeights = fixSpec('shard-weights', (context) => {
  const { config, view } = context;
  if (isBareMegatron(context)) {
    const expert = isMoeSite(context) ? 'expert, ' : '';
    return [
      proposal(
        'shard-weights',
        `weights split over more GPUs: more ${expert}tensor or pipeline parallelism, or Megatron-FSDP; with more GPUs if the layout does not allow it`,
        'each GPU has its share of the weights, and later of gradients and optimizer states',
      ),
    ];
  }
  if (isFullySharded(view))
    return [
      proposal(
        'shard-weights',
        'more GPUs, or weights made on the meta device and in shards: here they are whole before they are sharded',
        'each GPU has its share of the weights',
      ),
    ];
  if (config.world === 1)
    return [
      proposal(
        'shard-weights',
        'more GPUs, with the weights sharded over them',
        'each GPU has its share of the weights',
        {
          requires: ['more than one GPU'],
        },
      ),
    ];
  return [
    proposal(
      'shard-weights',
      'weights sharded over the GPUs while they are made: DeepSpeed ZeRO stage 3, or FSDP of a model on the meta device; or more GPUs',
      'each GPU has its share of the weights instead of all of them',
      {
        requires: ['more than one GPU'],
      },
    ),
  ];
});

const shardedLoading = fixSpec('sharded-loading', (context) => {
  if (isBareMegatron(context) || context.config.world === 1) return [];
  return [
    proposal(
      'sharded-loading',
      'weights loaded in shards: from_pretrained() after the DeepSpeed configuration of ZeRO stage 3, or fsdp_cpu_ram_efficient_loading of Accelerate; never .to("cuda") before sharding',
      'no GPU has all weights at any time',
      { requires: ['more than one GPU'] },
    ),
  ];
});

const fewerBytes = fixSpec('fewer-weight-bytes', (context) => {
  if (context.situation.isMegatron) return [];
  return [
    proposal(
      'fewer-weight-bytes',
      'fewer bytes for each weight: bf16 instead of fp32; 4 or 8 bits where only adapters are trained',
      'half of fp32 in bf16, an eighth in 4 bits',
    ),
  ];
});

const shardGradients = fixSpec('shard-gradients', (context) => {
  const stage = zeroStage(context.view);
  if (stage === 2 || isFullySharded(context.view) || context.config.world === 1) return [];
  return [
    isBareMegatron(context)
      ? proposal(
          'shard-gradients',
          'gradient buffers sharded or smaller: Megatron-FSDP, more tensor, pipeline or expert parallelism, or gradients reduced in bf16 (the distributed optimizer alone keeps them whole)',
          'each GPU has its share of the gradients',
        )
      : proposal(
          'shard-gradients',
          `gradients sharded over the GPUs: DeepSpeed ZeRO stage 2 or 3${hasDeepSpeed(context.situation, context.view) ? '' : ', or FSDP instead of DistributedDataParallel'}`,
          'each GPU has its share of the gradients',
          { requires: ['more than one GPU'] },
        ),
  ];
});

/** Of a Megatron configuration, the fused cross entropy is a separate fix; it does not cover log-probabilities. */
const chunkedLoss = fixSpec('chunked-loss', (context) => {
  const site = failingSiteOf(context.situation)?.names['site'] ?? '';
  if (hasSettings(context) && !/log_?p|entropy_from/i.test(site)) return [];
  return [
    proposal(
      'chunked-loss',
      'loss and log-probabilities in chunks of tokens, or a fused linear cross entropy, and no copy of the logits (clone, float, contiguous)',
      'the logits of all tokens are never in memory at once',
    ),
  ];
});

/** Files and settings of frameworks that limit the tokens of a micro-batch. */
const TOKEN_LIMIT = /(?:^|[/"])(?:verl|slime|megatron)\/|max_token_len_per_gpu|max_tokens_per_gpu|use_dynamic_bsz/;

const capTokens = fixSpec('cap-tokens', (context) => {
  const { situation } = context;
  if (hasSettings(context)) return [];
  const images = !situation.isMegatron && hasImages(situation);
  const activity = failingActivityOf(situation);
  if (!images && !actsOn('cap-tokens', activity)) return [];
  if (images)
    return [
      proposal(
        'cap-tokens',
        `fewer image tokens: ${trainerLines(situation, context.view, 'cap-tokens')[0] ?? 'a lower limit of pixels for each image, such as max_pixels of the processor'}`,
        'what the vision tower computes grows with the pixels; a limit of the text does not cut image tokens',
      ),
    ];
  const known = [situation.frames, ...situation.facts.settings.keys()].join('\n');
  return [
    proposal(
      'cap-tokens',
      situation.isMegatron || TOKEN_LIMIT.test(known)
        ? 'fewer tokens in a micro-batch: a lower limit of tokens on each GPU, and samples that are longer than it cut or left out'
        : `shorter samples: a smaller ${trainerOf(situation)?.length ?? 'max_length'}, and longer ones cut or left out`,
      'the tensor that failed grows with the tokens of a micro-batch',
      { requires: ['no single sample may be longer than the limit'] },
    ),
  ];
});

const splitLogits = fixSpec('split-logits', (context) => {
  if (hasSettings(context) || context.config.world === 1) return [];
  return [
    proposal(
      'split-logits',
      'logits split over GPUs: tensor parallelism over the vocabulary, or context (sequence) parallelism over the tokens',
      'each GPU has its share of the logits',
      { requires: ['more than one GPU'] },
    ),
  ];
});

const FUSED = /flash|fused(?!_softmax)|sdpa|scaled_dot_product|xformers|cudnn/i;
const SDPA = /sdpa|scaled_dot_product_attention/i;
/** A fused kernel asks for its output alone: 262,144 tokens of hidden size 4096 in two bytes. */
const LARGEST_OUTPUT = 2 * GIB;

const fusedKernel = fixSpec('fused-kernel', (context) => {
  const { situation, view } = context;
  if (hasSettings(context)) return [];
  const { innermost = '', code = '', site = '' } = failingSiteOf(situation)?.names ?? {};
  const where = `${innermost} ${code} ${site}`;
  const backend = wordOf(view, 'attention_backend');
  const chosen = attentionOf(situation) ?? (backend !== null && /flash|fused|sdpa/.test(backend) ? 'flash' : null);
  const activity = failingActivityOf(situation);
  // With a mask that its kernels do not take, PyTorch's attention makes the scores.
  const makesScores = SDPA.test(where) && (situation.verdict.request?.bytes ?? 0) >= LARGEST_OUTPUT;
  if (chosen === 'flash' || (!makesScores && (chosen === 'sdpa' || FUSED.test(where)))) return [];
  if (!actsOn('fused-kernel', activity) && !(chosen === 'eager' && activity === null)) return [];
  const kernel = makesScores ? '"flash_attention_2"' : '"sdpa" or "flash_attention_2"';
  return [
    proposal(
      'fused-kernel',
      situation.isMegatron
        ? 'attention with a fused kernel: attention_backend flash or fused'
        : `attention with a fused kernel: ${trainerLines(situation, view, 'fused-kernel')[0] ?? `attn_implementation=${kernel}`}`,
      'the matrix of scores, tokens × tokens for each head, is never in memory',
      {
        requires: ['a head size and a mask that the kernel supports'],
        python: situation.isMegatron
          ? []
          : [
              `model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="${makesScores ? 'flash_attention_2' : 'sdpa'}")`,
            ],
      },
    ),
  ];
});

const expertTokens = fixSpec('fewer-expert-tokens', (context) => {
  if (hasSettings(context)) return [];
  return [
    proposal(
      'fewer-expert-tokens',
      'fewer tokens for the experts of one GPU: more expert parallelism, a capacity factor, or a smaller micro-batch',
      'dispatched tokens and the activations of experts go with them; the fullest expert decides',
    ),
  ];
});

const saveOnHost = fixSpec('save-on-host', (context) => {
  if (hasSettings(context)) return [];
  return [
    proposal(
      'save-on-host',
      'a checkpoint that is not gathered on one GPU: FSDP’s FullStateDictConfig(offload_to_cpu=True, rank0_only=True), or torch.distributed.checkpoint of the sharded state',
      'the copies for the checkpoint',
    ),
  ];
});

const loadOnHost = fixSpec('load-on-host', (context) => {
  if (hasSettings(context)) return [];
  return [
    proposal(
      'load-on-host',
      'the checkpoint read into host memory: torch.load(path, map_location="cpu", mmap=True), or torch.distributed.checkpoint',
      'the second copy of what is loaded',
      { python: ['state = torch.load(path, map_location="cpu", mmap=True)'] },
    ),
  ];
});

const smallOptimizer = fixSpec('small-optimizer', (context) => {
  if (hasSettings(context)) return [];
  return [
    isBareMegatron(context)
      ? proposal(
          'small-optimizer',
          'smaller optimizer states: --use-precision-aware-optimizer with --exp-avg-dtype and --exp-avg-sq-dtype bf16 or fp8',
          'half of the fp32 moments in bf16, three quarters in fp8',
          { requires: ['--use-distributed-optimizer', 'Megatron-Core 0.13 or newer for bf16'] },
        )
      : proposal(
          'small-optimizer',
          'an optimizer with smaller states: 8-bit Adam, or one without second moments',
          'a quarter of the states in 8 bits',
        ),
  ];
});

const foreachOff = fixSpec('optimizer-foreach', (context) => {
  if (!/_(?:multi_tensor|foreach)_/.test(failingSiteOf(context.situation)?.names['innermost'] ?? '')) return [];
  return [
    proposal(
      'optimizer-foreach',
      'foreach=False or fused=True for the optimizer of PyTorch',
      'about one copy of the parameters in the optimizer step',
      { python: ['optimizer = torch.optim.AdamW(params, lr=lr, fused=True)'] },
    ),
  ];
});

const evaluation = fixSpec('smaller-evaluation', () => [
  proposal(
    'smaller-evaluation',
    'evaluation without gradients and kept outputs, and with a smaller batch than training',
    'activations of the evaluation, and the outputs that it gathers',
  ),
]);

const freeBeforeWake = fixSpec('free-before-wake', () => [
  proposal(
    'free-before-wake',
    'the trainer’s memory given back before the engine wakes: model and optimizer offloaded, then the cache emptied',
    'what the trainer still had: its cache, and what can be offloaded',
    { python: ['gc.collect(); torch.cuda.empty_cache()  # after offloading, before wake_up()'] },
  ),
]);

const wakeInParts = fixSpec('wake-in-parts', () => [
  proposal(
    'wake-in-parts',
    'weights and KV cache woken one after the other: the copies for the update of the weights are gone before the cache is made',
    'the KV cache and the copies of weights are not in memory together',
    {
      python: [
        'llm.wake_up(tags=["weights"])  # update the weights, free the copies',
        'llm.wake_up(tags=["kv_cache"])',
      ],
    },
  ),
]);

const engineShare = fixSpec('smaller-engine-share', () => [
  proposal(
    'smaller-engine-share',
    'a smaller share of the device for the engine: gpu_memory_utilization (vLLM), mem_fraction_static (SGLang)',
    'the KV cache is made as large as the share allows',
  ),
]);

const largeTensor = fixSpec('look-at-tensor', ({ situation, config }) => {
  const bytes = situation.verdict.request?.bytes ?? null;
  const { deviceBytes } = situation;
  if (bytes === null || deviceBytes === null) return [];
  const isOne = config.mbs === 1 && bytes >= LARGE_SHARE * deviceBytes;
  // No batch makes a tensor of several devices fit.
  if (!isOne && (bytes <= deviceBytes || situation.isMegatron)) return [];
  // Where the activity is known, so is the tensor.
  if (failingActivityOf(situation) !== null) return [];
  return [
    proposal(
      'look-at-tensor',
      `the one large tensor first${isOne ? ', since the batch is 1 already' : ''}: a long sequence or many image tokens, logits, or attention without a fused kernel; a shorter max_length or fewer image tokens, a chunked or fused loss`,
      'the request itself is one tensor',
    ),
  ];
});

export const SITE_FIXES: readonly FixSpec[] = [
  largeTensor,
  shardWeights,
  shardedLoading,
  fewerBytes,
  shardGradients,
  chunkedLoss,
  capTokens,
  splitLogits,
  fusedKernel,
  expertTokens,
  saveOnHost,
  loadOnHost,
  smallOptimizer,
  foreachOff,
  evaluation,
  freeBeforeWake,
  wakeInParts,
  engineShare,
];
