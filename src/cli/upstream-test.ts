/**
 * What a functional test of Megatron-LM asks of its runs: `model_config.yaml` next to its golden values. Upstream:
 * `tests/functional_tests/python_test_utils/test_pretraining_regular_pipeline.py`, `shell_test_utils/run_ci_test.sh`.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MbfError } from '../model/errors.js';
import { yamlDocument, yamlValue } from '../text/yaml.js';
import { readTextFile } from './text-input.js';

export interface UpstreamTest {
  readonly metrics: readonly string[];
  /** Equality is asked for. */
  readonly deterministic: boolean;
}

/** Of a test that names none. */
const METRICS = ['lm loss', 'num-zeros'];

/** The file next to golden values; undefined without one. */
export function testNextTo(golden: string): string | undefined {
  const file = join(dirname(golden.replace(/^path:/, '')), 'model_config.yaml');
  return /\.json$/i.test(golden) && existsSync(golden.replace(/^path:/, '')) && existsSync(file) ? file : undefined;
}

/** Throws MBF1001, MBF1003 and MBF2801. */
export async function readUpstreamTest(file: string): Promise<UpstreamTest> {
  const text = await readTextFile(file);
  let config: unknown;
  try {
    const document = yamlDocument(text, 'MBF2801');
    const [fault] = document.errors;
    if (fault !== undefined) throw new MbfError('MBF2801', fault.message.split('\n')[0]!, {}, fault);
    config = yamlValue(document, 'MBF2801', (what) => {
      throw new MbfError('MBF2801', what);
    });
  } catch (error) {
    throw error instanceof MbfError ? error.inFile(file) : error;
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config))
    throw new MbfError('MBF2801', 'not the configuration of a test: an object is expected', { file });
  const { METRICS: metrics = METRICS, ENV_VARS: env } = config as Readonly<Record<string, unknown>>;
  if (!Array.isArray(metrics) || !metrics.every((name) => typeof name === 'string'))
    throw new MbfError('MBF2801', 'METRICS is a list of names', { file });
  const variables = (typeof env === 'object' && env !== null ? env : {}) as Readonly<Record<string, unknown>>;
  const isSet = (name: string): boolean => String(variables[name] ?? '') === '1';
  return {
    metrics,
    deterministic: !isSet('NVTE_ALLOW_NONDETERMINISTIC_ALGO') && !isSet('NON_DETERMINSTIC_RESULTS'),
  };
}
