/** Inputs of models that several tests estimate: `given.yaml`. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { GivenInputs } from '../../src/estimate/input-keys.js';
import { completeInputs } from '../../src/estimate/inputs.js';
import { estimateStages, type StageEstimate, type StagesEstimate } from '../../src/estimate/stages/estimate-stages.js';

const FILE = readFileSync(new URL('given.yaml', import.meta.url), 'utf8');
export const {
  llama3_70b: LLAMA3_70B,
  guide: GUIDE,
  tiny: TINY,
  gpt3_7b: GPT3_7B,
} = parse(FILE, { merge: true }) as Readonly<Record<'llama3_70b' | 'guide' | 'tiny' | 'gpt3_7b', GivenInputs>>;

export function stagesOf(given: GivenInputs): StagesEstimate {
  return estimateStages(completeInputs(given));
}

export function bytesOf(stage: StageEstimate, component: string, name?: string): number {
  return stage.parts
    .filter((one) => one.component === component && (name === undefined || one.name === name))
    .reduce((sum, { bytes }) => sum + bytes, 0);
}

/** What one layer keeps of one micro-batch: two depths of the tiny model on one GPU differ by exactly that. */
export function perLayer(given: GivenInputs): number {
  const [shallow, deep] = [1, 2].map((num_layers) => {
    const [stage] = stagesOf({ ...given, num_layers }).stages;
    return bytesOf(stage!, 'activation', 'saved tensors of layers');
  });
  return deep! - shallow!;
}
