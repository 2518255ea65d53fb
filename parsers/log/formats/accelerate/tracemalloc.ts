import type { LineFormat } from '../contract.js';
import { MIB, memoryFigure } from '../units.js';

/**
 * Printed label → metric, how many truncated figures it sums, moment. `end-begin` and `max-begin` are differences, not
 * levels, and keep names of their own.
 */
const LABELS: Readonly<Record<string, readonly [metric: string, parts: number, moment: string]>> = {
  'GPU Memory before entering': ['allocated', 1, 'before'],
  'GPU Memory consumed at the end of': ['allocated_delta', 1, 'after'],
  'GPU Peak Memory consumed during': ['max_allocated_delta', 1, 'during'],
  'GPU Total Peak Memory consumed during': ['max_allocated', 2, 'during'],
  'CPU Memory before entering': ['process_rss', 1, 'before'],
  'CPU Memory consumed at the end of': ['process_rss_delta', 1, 'after'],
  'CPU Peak Memory consumed during': ['process_max_rss_delta', 1, 'during'],
  'CPU Total Peak Memory consumed during': ['process_max_rss', 2, 'during'],
};

export const ACCELERATE_TRACEMALLOC: LineFormat = {
  form: 'line',
  id: 'accelerate.tracemalloc',
  title: 'Memory before, during and after training or evaluation',
  producer: 'Hugging Face Accelerate and PEFT examples',
  versions: '2022 and later; Accelerate does not name the GPU, and has no figures of the host',
  source:
    'accelerate/examples/by_feature/fsdp_with_peak_mem_tracking.py; peft/examples/conditional_generation/peft_lora_seq2seq_accelerate_*.py, TorchTracemalloc',
  anchors: [
    'GPU Memory before entering',
    'CPU Memory before entering',
    'onsumed at the end of the ',
    'onsumed during the ',
  ],
  fields: {
    device: 'GPU or none: bytes that torch allocated; CPU: resident set of the process, sampled by a thread',
    label: 'level before, growth, peak of the growth, peak',
    loop: 'train, eval, …',
    value: 'MiB, cut and not rounded; of a total the sum of two cut figures',
  },
  // With a unit it is the FSDP examples' line.
  pattern:
    /\b(?:(?<device>[GC]PU) )?(?<label>Memory before entering|Memory consumed at the end of|(?:Total )?Peak Memory consumed during) the (?<loop>[a-z]{1,24}) ?(?:\((?:end-begin|max-begin|max)\))? ?: {1,4}(?<value>-?\d{1,9})\b(?! GB)/g,
  read({ device = 'GPU', label = '', loop = '', value = '' }, emit) {
    const known = LABELS[`${device} ${label}`];
    if (known === undefined) return;
    const [metric, parts, moment] = known;
    emit(memoryFigure(metric, value, 'MB', MIB, { moment: `${moment} ${loop}` }, parts));
  },
};
