/** Fixes that act on what was being allocated, as the failing frame and the size of the request show it. */

import { isFullySharded, zeroStage } from '../../../derive/settings/sharded.js';
import { LARGE_SHARE } from '../../../derive/stacks/failing-activity.js';
import { activityData } from '../../../knowledge/activities.js';
import { GIB } from '../../../model/units.js';
import { failingActivityOf, failingSiteOf } from '../failing.js';
import { type FixCode, type FixContext, unknownSaving, wordOf } from '../fix.js';
import { attentionOf, hasDeepSpeed, hasImages, trainerLines, trainerOf } from '../trainer.js';

const hasSettings = ({ situation }: FixContext): boolean => situation.isMegatron && situation.facts.settings.size > 0;
/** Megatron whose settings were not read: its flags can be named, their values not. */
const isBareMegatron = (context: FixContext): boolean => context.situation.isMegatron && !hasSettings(context);
const isMoeSite = ({ situation }: FixContext): boolean =>
  /moe|expert|grouped/i.test(failingSiteOf(situation)?.names['site'] ?? '');

/** Whether it is one of the first fixes of an activity. */
const actsOn = (fix: string, activity: string | null): boolean =>
  activityData().some(({ id, first }) => id === activity && first?.includes(fix));

/** Files and settings of frameworks that limit the tokens of a micro-batch. */
const TOKEN_LIMIT = /(?:^|[/"])(?:verl|slime|megatron)\/|max_token_len_per_gpu|max_tokens_per_gpu|use_dynamic_bsz/;

const FUSED = /flash|fused(?!_softmax)|sdpa|scaled_dot_product|xformers|cudnn/i;
const SDPA = /sdpa|scaled_dot_product_attention/i;
/** A fused kernel asks for its output alone: 262,144 tokens of hidden size 4096 in two bytes. */
const LARGEST_OUTPUT = 2 * GIB;

export const SITE_FIXES: FixCode = {
  'shard-weights': (context) => {
    const { config, view } = context;
    if (isBareMegatron(context)) {
      const expert = isMoeSite(context) ? 'expert, ' : '';
      return {
        title: `weights split over more GPUs: more ${expert}tensor or pipeline parallelism, or Megatron-FSDP; with more GPUs if the layout does not allow it`,
        saving: unknownSaving('each GPU has its share of the weights, and later of gradients and optimizer states'),
      };
    }
    if (isFullySharded(view))
      return {
        title:
          'more GPUs, or weights made on the meta device and in shards: here they are whole before they are sharded',
        saving: unknownSaving('each GPU has its share of the weights'),
      };
    if (config.world === 1)
      return {
        title: 'more GPUs, with the weights sharded over them',
        saving: unknownSaving('each GPU has its share of the weights'),
        requires: ['more than one GPU'],
      };
    return {
      title:
        'weights sharded over the GPUs while they are made: DeepSpeed ZeRO stage 3, or FSDP of a model on the meta device; or more GPUs',
      saving: unknownSaving('each GPU has its share of the weights instead of all of them'),
      requires: ['more than one GPU'],
    };
  },

  'sharded-loading': (context) => !isBareMegatron(context) && context.config.world !== 1,

  'fewer-weight-bytes': (context) => !context.situation.isMegatron,

  'shard-gradients': (context) => {
    const stage = zeroStage(context.view);
    if (stage === 2 || isFullySharded(context.view) || context.config.world === 1) return [];
    return isBareMegatron(context)
      ? {
          title:
            'gradient buffers sharded or smaller: Megatron-FSDP, more tensor, pipeline or expert parallelism, or gradients reduced in bf16 (the distributed optimizer alone keeps them whole)',
          saving: unknownSaving('each GPU has its share of the gradients'),
        }
      : {
          title: `gradients sharded over the GPUs: DeepSpeed ZeRO stage 2 or 3${hasDeepSpeed(context.situation, context.view) ? '' : ', or FSDP instead of DistributedDataParallel'}`,
          saving: unknownSaving('each GPU has its share of the gradients'),
          requires: ['more than one GPU'],
        };
  },

  /** Of a Megatron configuration, the fused cross entropy is a separate fix; it does not cover log-probabilities. */
  'chunked-loss': (context) => {
    const site = failingSiteOf(context.situation)?.names['site'] ?? '';
    return !hasSettings(context) || /log_?p|entropy_from/i.test(site);
  },

  'cap-tokens': (context) => {
    const { situation } = context;
    if (hasSettings(context)) return [];
    const images = !situation.isMegatron && hasImages(situation);
    const activity = failingActivityOf(situation);
    if (!images && !actsOn('cap-tokens', activity)) return [];
    if (images)
      return {
        title: `fewer image tokens: ${trainerLines(situation, context.view, 'cap-tokens')[0] ?? 'a lower limit of pixels for each image, such as max_pixels of the processor'}`,
        saving: unknownSaving(
          'what the vision tower computes grows with the pixels; a limit of the text does not cut image tokens',
        ),
      };
    const known = [situation.frames, ...situation.facts.settings.keys()].join('\n');
    return {
      title:
        situation.isMegatron || TOKEN_LIMIT.test(known)
          ? 'fewer tokens in a micro-batch: a lower limit of tokens on each GPU, and samples that are longer than it cut or left out'
          : `shorter samples: a smaller ${trainerOf(situation)?.length ?? 'max_length'}, and longer ones cut or left out`,
      saving: unknownSaving('the tensor that failed grows with the tokens of a micro-batch'),
      requires: ['no single sample may be longer than the limit'],
    };
  },

  'split-logits': (context) => !hasSettings(context) && context.config.world !== 1,

  'fused-kernel': (context) => {
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
    return {
      title: situation.isMegatron
        ? 'attention with a fused kernel: attention_backend flash or fused'
        : `attention with a fused kernel: ${trainerLines(situation, view, 'fused-kernel')[0] ?? `attn_implementation=${kernel}`}`,
      python: situation.isMegatron
        ? []
        : [
            `model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="${makesScores ? 'flash_attention_2' : 'sdpa'}")`,
          ],
    };
  },

  'fewer-expert-tokens': (context) => !hasSettings(context),

  'save-on-host': (context) => !hasSettings(context),

  'load-on-host': (context) => !hasSettings(context),

  'small-optimizer': (context) => {
    if (hasSettings(context)) return [];
    return isBareMegatron(context)
      ? {
          title:
            'smaller optimizer states: --use-precision-aware-optimizer with --exp-avg-dtype and --exp-avg-sq-dtype bf16 or fp8',
          saving: unknownSaving('half of the fp32 moments in bf16, three quarters in fp8'),
          requires: ['--use-distributed-optimizer', 'Megatron-Core 0.13 or newer for bf16'],
        }
      : {
          title: 'an optimizer with smaller states: 8-bit Adam, or one without second moments',
          saving: unknownSaving('a quarter of the states in 8 bits'),
        };
  },

  'optimizer-foreach': (context) =>
    /_(?:multi_tensor|foreach)_/.test(failingSiteOf(context.situation)?.names['innermost'] ?? ''),

  'look-at-tensor': ({ situation, config }) => {
    const bytes = situation.verdict.request?.bytes ?? null;
    const { deviceBytes } = situation;
    if (bytes === null || deviceBytes === null) return [];
    const isOne = config.mbs === 1 && bytes >= LARGE_SHARE * deviceBytes;
    // No batch makes a tensor of several devices fit.
    if (!isOne && (bytes <= deviceBytes || situation.isMegatron)) return [];
    // Where the activity is known, so is the tensor.
    if (failingActivityOf(situation) !== null) return [];
    return {
      title: `the one large tensor first${isOne ? ', since the batch is 1 already' : ''}: a long sequence or many image tokens, logits, or attention without a fused kernel; a shorter max_length or fewer image tokens, a chunked or fused loss`,
    };
  },
};
