import type { LineFormat } from '../contract.js';
import { bannerSetting, figureFinding } from '../system/findings.js';
import { VERL_PRODUCER } from './memory.js';

const SCALE: Readonly<Record<string, number>> = { T: 1e12, B: 1e9, M: 1e6, K: 1e3 };

export const VERL_MODEL: LineFormat = {
  form: 'line',
  id: 'verl.model',
  title: 'Size of a model, steps of its optimizer, how it is run',
  producer: VERL_PRODUCER,
  versions: '0.1 and later',
  source:
    'verl/utils/model.py, print_model_size; verl/workers/fsdp_workers.py, _build_model_optimizer; verl/workers/actor/dp_actor.py, __init__',
  anchors: [
    'B parameters',
    'M parameters',
    ', num_warmup_steps: ',
    'Actor use_remove_padding=',
    'Critic use_remove_padding=',
  ],
  fields: {
    model: 'class of the model',
    size: 'parameters of it, of the whole model before it is sharded',
    scale: 'decimal: T, B, M, K',
    steps: 'steps of the optimizer in all',
    warmup: 'warm-up steps',
    removePadding: 'whether sequences are packed',
  },
  pattern:
    /\b(?<model>[A-Za-z]\w{2,80}) contains (?<size>\d{1,6}\.\d{1,2})(?<scale>[TBMK]) parameters|Total steps: (?<steps>-?\d{1,9}), num_warmup_steps: (?<warmup>-?\d{1,9})|(?:Actor|Critic) use_remove_padding=(?<removePadding>True|False)/g,
  read({ model, size, scale = '', steps, warmup, removePadding }, emit) {
    if (size !== undefined)
      emit({
        row: 'value',
        name: 'parameters.model',
        value: Math.round(Number(size) * (SCALE[scale] ?? 1)),
        unit: 'elements',
        text: model,
      });
    if (steps !== undefined) {
      emit(figureFinding('verl.total_steps', Number(steps), 'count'));
      emit(figureFinding('verl.warmup_steps', Number(warmup), 'count'));
    }
    if (removePadding !== undefined) emit(bannerSetting('use_remove_padding', 'use_remove_padding', removePadding));
  },
};
