/** What the stacks of transformers' models look like, for patterns and samples. */
import type { FramePattern } from '../match/rule.js';
import { moduleCall } from './sample-tails.js';

/** Code from the hub lies in the cache, under `transformers_modules`. */
export const MODELING = ['transformers/models/*/modeling_*.py', 'transformers_modules/**/modeling_*.py'];
export const MODEL: FramePattern = { file: [...MODELING, 'transformers/modeling_layers.py'], function: 'forward' };

/** A causal language model of transformers 4.52 and later, from a decoder layer outwards. */
export function fromLayer(packages: string, model: string): readonly string[] {
  const file = `${packages}/transformers/models/${model}/modeling_${model}.py`;
  return [
    `forward ${file}`,
    ...moduleCall(packages),
    `__call__ ${packages}/transformers/modeling_layers.py`,
    ...fromModel(packages, model),
  ];
}

export function fromModel(packages: string, model: string): readonly string[] {
  const file = `${packages}/transformers/models/${model}/modeling_${model}.py`;
  return [
    `forward ${file}`,
    `wrapper ${packages}/transformers/utils/generic.py`,
    ...moduleCall(packages),
    ...fromHead(packages, model),
  ];
}

export function fromHead(packages: string, model: string): readonly string[] {
  return [
    `forward ${packages}/transformers/models/${model}/modeling_${model}.py`,
    `wrapper ${packages}/transformers/utils/generic.py`,
    ...moduleCall(packages),
  ];
}
