/** Fixes that act on what was being allocated, as the failing frame and the size of the request show it. */

import { isFullySharded, zeroStage } from '../../../derive/settings/sharded.js';
import { LARGE_SHARE } from '../../../derive/stacks/failing-activity.js';
import { activityData } from '../../../knowledge/activities.js';
import { sentencesOf } from '../../../model/statement.js';
import { GIB } from '../../../model/units.js';
import { failingActivityOf, failingSiteOf } from '../failing.js';
import { type FixCode, type FixContext, unknownSaving, wordOf } from '../fix.js';
import { attentionOf, hasDeepSpeed, hasImages, trainerLines, trainerOf } from '../trainer.js';

const fixText = sentencesOf('fixes');

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
        title: fixText('weights_split', { expert }),
        saving: unknownSaving(fixText('share_of_weights_and_later')),
      };
    }
    if (isFullySharded(view))
      return {
        title: fixText('meta_shards'),
        saving: unknownSaving(fixText('share_of_weights')),
      };
    if (config.world === 1)
      return {
        title: fixText('more_gpus'),
        saving: unknownSaving(fixText('share_of_weights')),
        requires: [fixText('several_gpus')],
      };
    return {
      title: fixText('weights_sharded'),
      saving: unknownSaving(fixText('share_instead')),
      requires: [fixText('several_gpus')],
    };
  },

  'sharded-loading': (context) => !isBareMegatron(context) && context.config.world !== 1,

  'fewer-weight-bytes': (context) => !context.situation.isMegatron,

  'shard-gradients': (context) => {
    const stage = zeroStage(context.view);
    if (stage === 2 || isFullySharded(context.view) || context.config.world === 1) return [];
    return isBareMegatron(context)
      ? {
          title: fixText('gradients_smaller'),
          saving: unknownSaving(fixText('share_of_gradients')),
        }
      : {
          title: fixText('gradients_sharded', { deepspeed: hasDeepSpeed(context.situation, context.view) }),
          saving: unknownSaving(fixText('share_of_gradients')),
          requires: [fixText('several_gpus')],
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
        title: fixText('image_tokens', {
          setting: trainerLines(situation, context.view, 'cap-tokens')[0] ?? fixText('pixel_limit'),
        }),
        saving: unknownSaving(fixText('vision_grows')),
      };
    const known = [situation.frames, ...situation.facts.settings.keys()].join('\n');
    return {
      title:
        situation.isMegatron || TOKEN_LIMIT.test(known)
          ? fixText('token_limit')
          : fixText('sample_length', { setting: trainerOf(situation)?.length ?? 'max_length' }),
      saving: unknownSaving(fixText('grows_with_tokens')),
      requires: [fixText('no_longer_sample')],
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
        ? fixText('fused_backend')
        : fixText('fused_kernel', {
            setting: trainerLines(situation, view, 'fused-kernel')[0] ?? `attn_implementation=${kernel}`,
          }),
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
          title: fixText('small_moments'),
          saving: unknownSaving(fixText('half_of_moments')),
          requires: ['--use-distributed-optimizer', fixText('core_013')],
        }
      : {
          title: fixText('small_optimizer'),
          saving: unknownSaving(fixText('quarter')),
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
      title: fixText('look_at_tensor', { one: isOne }),
    };
  },
};
