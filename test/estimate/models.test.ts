/** The table of docs/estimator.md with twelve models, by all three models of the estimate. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { GivenInputs } from '../../src/estimate/input-keys.js';
import { completeInputs } from '../../src/estimate/inputs.js';
import { estimateMegatronBridge } from '../../src/estimate/megatron-bridge.js';
import { estimateMegatronLm } from '../../src/estimate/megatron-lm.js';
import { estimateStages } from '../../src/estimate/stages/estimate-stages.js';
import type { UpstreamEstimate } from '../../src/estimate/upstream.js';
import { GIB } from '../../src/model/units.js';
import { repoRoot } from '../store/scratch.js';

interface TrainedModel {
  readonly name: string;
  readonly layout: string;
  readonly given: GivenInputs;
}

const { models: MODELS } = parse(readFileSync(new URL('models.yaml', import.meta.url), 'utf8'), { merge: true }) as {
  readonly models: readonly TrainedModel[];
};

const gib = (bytes: number): string => (bytes / GIB).toFixed(2);

function totalOf({ modelState, activationBytes }: UpstreamEstimate): number {
  return modelState.reduce((sum, { bytes }) => sum + bytes, activationBytes);
}

function rowOf({ name, layout, given }: TrainedModel): string {
  const inputs = completeInputs(given);
  const { stages, hottest } = estimateStages(inputs);
  const { total } = stages[hottest]!;
  const upstream = [estimateMegatronLm(inputs), estimateMegatronBridge(inputs)].map((one) => gib(totalOf(one)));
  const ours = [gib(total.bytes), `${gib(total.low)}–${gib(total.high)}`, String(hottest)];
  return `| ${[name, layout.replace('account_for_*', '`account_for_*`'), ...upstream, ...ours].join(' | ')} |`;
}

describe('docs/estimator.md', () => {
  const page = readFileSync(join(repoRoot, 'docs', 'estimator.md'), 'utf8');

  it.each(MODELS)('has the figures of $name', (model) => {
    expect(page).toContain(rowOf(model));
  });
  // Figures of both upstream files, run unmodified.
  it.each([
    ['Llama 3 8B', '105.16', '74.13'],
    ['Llama 3 70B', '96.83', '61.10'],
    ['Mixtral 8x7B', '25.41', '28.91'],
  ])('%s as upstream has it', (name, lm, bridge) => {
    expect(rowOf(MODELS.find((model) => model.name === name)!)).toContain(`| ${lm} | ${bridge} |`);
  });
});
