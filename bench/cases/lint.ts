/**
 * What a linter costs that is called before every launch: `lint` of one configuration against the tool's own start-up.
 */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/store/load-queries.js';
import type { BenchContext, Case } from '../case.js';
import { alternate, type Contender } from '../measure.js';

const CLI = join(packageRoot(), 'dist', 'src', 'cli', 'main.js');
const START_UP = '--version';
const NODE = 'node alone';
/**
 * A process takes a tenth of a second, and its noise a third of that: rounds are cheap, and many of them are needed.
 */
const ROUNDS_PER_ROUND = 10;

/** Broken in three ways. */
const SMALL = `model:
  num_layers: 48
  hidden_size: 8192
  tensor_model_parallel_size: 8
  pipeline_model_parallel_size: 4
  cpu_offloading: true
  cpu_offloading_num_layers: 48
  recompute_granularity: selective
train:
  micro_batch_size: 1
  global_batch_size: 512
`;

const SCRIPT = `#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 48 --tensor-model-parallel-size 8 \\
  --pipeline-model-parallel-size 4 --sequence-parallel --recompute-granularity selective --bf16
`;

export const lintCase: Case = {
  name: 'lint',
  async *run(context) {
    const file = (name: string): string => join(context.directory, name);
    writeFileSync(file('lint-small.yaml'), SMALL);
    writeFileSync(file('lint-launch.sbatch'), SCRIPT);
    cpSync(join(packageRoot(), 'samples', 'llama3-70b-pp8', 'run_config.yaml'), file('lint-run_config.yaml'));
    const rows = {
      'lint, 11 settings': file('lint-small.yaml'),
      'lint, run_config.yaml of a sample': file('lint-run_config.yaml'),
      'lint, a launch script': file('lint-launch.sbatch'),
    };
    const samples = await alternate(
      [
        contender(context, NODE, ['-e', '0']),
        contender(context, START_UP, [CLI, '--version']),
        ...Object.entries(rows).map(([row, path]) => contender(context, row, [CLI, 'lint', path])),
      ],
      context.repeat * ROUNDS_PER_ROUND,
      () => undefined,
    );
    yield {
      case: 'lint',
      title: 'one configuration, without a store',
      baselines: [START_UP],
      samples,
      work: {},
      // It may add less than the start-up itself takes.
      bars: Object.fromEntries(Object.keys(rows).map((row) => [row, [{ of: START_UP, limit: 2 }]])),
      notes: ['whole processes, in turn; lint − --version < --version is a ratio below 2'],
    };
  },
};

/** An error that is found is exit code 1, and no failure. */
function contender(context: BenchContext, row: string, args: readonly string[]): Contender {
  return async () => {
    const { seconds, peakRssBytes } = await context.timer.run(process.execPath, args, { okCodes: [0, 1] });
    return { [row]: { seconds, peakRssBytes } };
  };
}
