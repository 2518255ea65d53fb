/**
 * What Megatron-LM's and Megatron Bridge's own estimators say of many configurations, run unmodified, against what the
 * command line says: every byte, every printed line. Any JSON file of the corpus that holds such vectors is read; a key
 * that a vector lacks has upstream's default.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { completeInputs } from '../../src/estimate/inputs.js';
import { estimateMegatronBridge } from '../../src/estimate/megatron-bridge.js';
import { questionOfJson } from '../../src/findings/estimate/describe-estimate.js';
import type { EstimateModel, EstimateResult } from '../../src/model/results/estimate.js';
import { buildCli } from '../support/cli.js';
import { CORPUS } from '../support/corpus.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, namesIn, sum } from './corpus-suite.js';

interface BridgeFigures {
  readonly components: readonly Readonly<Record<string, number | string>>[];
  readonly activation_bytes: number;
  readonly total_bytes: number;
}

interface Vector {
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly expected: {
    readonly megatron_lm: {
      readonly weight_and_optimizer_bytes: number;
      readonly activation_bytes_sp_formula: number;
      readonly activation_bytes_no_sp_formula: number;
      readonly stdout_lines: readonly string[];
    };
    readonly megatron_bridge: BridgeFigures & {
      readonly weight_and_optimizer_bytes: number;
      readonly total_parameters: number;
      readonly assumptions: readonly string[];
      readonly format_MB: string;
      readonly stdout_lines: readonly string[];
    };
  };
}

interface UnitVector {
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly reproduced: BridgeFigures;
}

interface Vectors {
  readonly vectors?: readonly Vector[];
  readonly bridge_unit_test_vectors?: readonly UnitVector[];
}

/** Files directly in the corpus that hold vectors of estimators. */
function vectorFiles(): Vectors[] {
  return namesIn()
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(CORPUS, name), 'utf8')) as Vectors)
    .filter(({ vectors }) => vectors?.some(({ expected }) => expected?.megatron_lm !== undefined) === true);
}

const files = vectorFiles();
const vectors = files.flatMap((file) => file.vectors ?? []);
const units = files.flatMap((file) => file.bridge_unit_test_vectors ?? []);

corpusSuite('estimator vectors', vectors, () => {
  const directory = temporaryDirectory();

  const estimate = (inputs: unknown, model: EstimateModel): EstimateResult => {
    const file = join(directory, 'inputs.json');
    writeFileSync(file, JSON.stringify(inputs));
    return buildCli().expect(0, ['estimate', '--inputs', file, '--model', model, '--json=full']).json<EstimateResult>();
  };
  const modelState = ({ components }: EstimateResult): number =>
    sum(components.filter(({ name }) => !name.includes('activation')).map(({ bytes }) => bytes));
  const expectSum = (result: EstimateResult): void => {
    expect(result.total_bytes).toBeCloseTo(sum(result.components.map(({ bytes }) => bytes)), 0);
  };

  it.each(vectors)('$name by Megatron-LM', ({ inputs, expected: { megatron_lm: expected } }) => {
    const result = estimate(inputs, 'megatron-lm');
    const usesSp = inputs['sequence_parallel'] === true && inputs['recompute_granularity'] === 'selective';
    expect(modelState(result)).toBe(expected.weight_and_optimizer_bytes);
    const { activation_bytes_sp_formula, activation_bytes_no_sp_formula } = expected;
    expect(result.activation_bytes).toBe(usesSp ? activation_bytes_sp_formula : activation_bytes_no_sp_formula);
    expect(result.figures).toMatchObject({ activation_bytes_sp_formula, activation_bytes_no_sp_formula });
    expect(result.printed?.log_lines).toEqual(expected.stdout_lines);
    expectSum(result);
  });

  it.each(vectors)('$name by Megatron Bridge', ({ inputs, expected: { megatron_bridge: expected } }) => {
    const result = estimate(inputs, 'megatron-bridge');
    expect(result.components.map(({ name, bytes }) => [name, bytes])).toEqual([
      ...expected.components.map((component) => [component['name'], component['memory_bytes']]),
      ['activation', expected.activation_bytes],
    ]);
    expect(modelState(result)).toBe(expected.weight_and_optimizer_bytes);
    expect(result.activation_bytes).toBe(expected.activation_bytes);
    expect(result.total_bytes).toBe(expected.total_bytes);
    expect(result.figures['total_parameters']).toBe(expected.total_parameters);
    expect(result.assumptions.slice(0, expected.assumptions.length)).toEqual(expected.assumptions);
    expect(result.printed).toEqual({ log_lines: expected.stdout_lines, api_line: expected.format_MB });
    expectSum(result);
  });

  it.each(vectors)('$name by our own model: bounds around a sum', ({ inputs }) => {
    const result = estimate(inputs, 'mbforensics');
    expect(result.stages).toHaveLength(Number(inputs['pp']));
    expect(result.low_bytes).toBeLessThanOrEqual(result.total_bytes);
    expect(result.high_bytes).toBeGreaterThanOrEqual(result.total_bytes);
    expectSum(result);
  });
});

corpusSuite('unit tests of Megatron Bridge', units, () => {
  it.each(units)('$name', ({ inputs, reproduced }) => {
    const asked = { model: 'megatron-bridge', set: [], device: null } as const;
    const { given } = questionOfJson(JSON.stringify(inputs), 'inputs.json', asked);
    const estimate = estimateMegatronBridge(completeInputs(given));
    expect(
      estimate.modelState.map((component) => ({
        name: component.name,
        parameter_count: component.parameterCount,
        parameter_count_per_gpu: component.parameterCountPerGpu,
        bytes_per_parameter: component.bytesPerParameter,
        memory_bytes: component.bytes,
      })),
    ).toEqual(reproduced.components);
    expect(estimate.activationBytes).toBe(reproduced.activation_bytes);
    expect(estimate.activationBytes + sum(estimate.modelState.map(({ bytes }) => bytes))).toBe(reproduced.total_bytes);
  });
});
