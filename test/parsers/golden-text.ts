/** The text of a golden-value file: what is read of it, or why it is refused. */
import { expect } from 'vitest';
import { readGolden } from '../../parsers/index.js';
import { MbfError } from '../../src/model/errors.js';
import type {
  BridgeValues,
  MegatronInferenceValues,
  MegatronTrainingValues,
  UpstreamValues,
} from '../../src/model/golden-values.js';

export const PATH = 'golden_values.json';

export function read(text: string): UpstreamValues {
  const file = readGolden(text, PATH);
  if (file.kind !== 'upstream') throw new Error('a document of ours');
  return file.values;
}

export const training = (text: string): MegatronTrainingValues => read(text) as MegatronTrainingValues;
export const bridge = (text: string): BridgeValues => read(text) as BridgeValues;
export const inference = (text: string): MegatronInferenceValues => read(text) as MegatronInferenceValues;

export function refusal(text: string): MbfError {
  try {
    readGolden(text, PATH);
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    expect(error.code).toBe('MBF2801');
    expect(error.place.file).toBe(PATH);
    return error;
  }
  throw new Error(`was read: ${text.slice(0, 100)}`);
}
