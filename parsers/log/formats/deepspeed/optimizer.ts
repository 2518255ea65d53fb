import type { LineFormat } from '../contract.js';
import { bannerSetting } from '../system/findings.js';

/** DeepSpeed prints `fp16`, `FP16`, `BF16` or a type of torch. */
const PRECISION: Readonly<Record<string, string>> = { fp16: 'fp16', float16: 'fp16', bf16: 'bf16', bfloat16: 'bf16' };

export const DEEPSPEED_OPTIMIZER: LineFormat = {
  form: 'line',
  id: 'deepspeed.optimizer',
  title: 'Optimizer, ZeRO stage and precision that the engine creates',
  producer: 'DeepSpeed',
  versions: '0.3 and later; global rank 0',
  source:
    'deepspeed/runtime/engine.py, _configure_optimizer, _configure_zero_optimizer, _configure_bf16_optimizer; zero/stage3.py and stage_1_and_2.py, __init__',
  anchors: [
    'DeepSpeed Basic Optimizer = ',
    ' ZeRO stage ',
    ' ZeRO Stage ',
    'Creating BF16 optimizer',
    'Creating unfused BF16 optimizer',
    'Creating fp16 ',
    'CPU Offload: ',
  ],
  fields: {
    optimizer: 'class, or name of the configuration, of the optimizer that ZeRO or a loss scaler wraps',
    dtype: 'of the model; absent where a version does not print it',
    stage: 'of ZeRO',
    initial: 'the same, as stage 3 begins',
    wrapped: 'precision of an optimizer without ZeRO',
    offload: 'whether optimizer state and its step are on the host, of stages 1 and 2',
  },
  pattern:
    /DeepSpeed Basic Optimizer = (?<optimizer>\w{1,60})|(?:Creating|Using) (?:(?:torch\.)?(?<dtype>\w{4,12}) )?ZeRO [Ss]tage (?<stage>[0-3]) optimizer|Initializing ZeRO Stage (?<initial>[0-3])\b|Creating (?:unfused )?(?<wrapped>BF16|fp16) (?:unfused )?optimizer\b|(?<!\w )\bCPU Offload: (?<offload>True|False)/g,
  read({ optimizer, dtype, stage, initial, wrapped, offload }, emit) {
    if (optimizer !== undefined) emit(bannerSetting('optimizer', 'DeepSpeed Basic Optimizer', optimizer));
    const zero = stage ?? initial;
    if (zero !== undefined) emit(bannerSetting('zero_stage', 'ZeRO stage', zero));
    const precision = PRECISION[(dtype ?? wrapped ?? '').toLowerCase()];
    if (precision !== undefined) emit(bannerSetting(precision, `${dtype ?? wrapped} optimizer`, 'True'));
    if (offload === 'True') emit(bannerSetting('zero_offload_optimizer_device', 'CPU Offload', 'cpu'));
  },
};
