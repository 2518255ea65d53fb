/** What `launch.sh` of a generated repository calls: `node …/trainer-main.js --repo . --output DIR --commit SHA …`. Exits with 1 where training fails. */
import { parseArgs } from 'node:util';
import type { TorchRelease } from '../run.js';
import { GPUS } from './train/launch-options.js';
import { readTree } from './train/read-tree.js';
import { trainTree } from './train/train-tree.js';

const { values } = parseArgs({
  options: {
    repo: { type: 'string', default: '.' },
    output: { type: 'string', default: 'out' },
    attempt: { type: 'string', default: '1' },
    commit: { type: 'string', default: '' },
    seed: { type: 'string', default: '0' },
    torch: { type: 'string', default: '2.8' },
    gpu: { type: 'string', default: GPUS[0]!.name },
    ranks: { type: 'string', default: '2' },
    mount: { type: 'string', default: '/opt/Megatron-Bridge/' },
    'memory-lines': { type: 'string', default: 'bridge' },
    stragglers: { type: 'string', default: 'megatron' },
  },
});
const gpu = GPUS.find(({ name }) => name === values.gpu);
if (gpu === undefined) throw new Error(`no such GPU: ${values.gpu}`);
const run = trainTree(
  readTree(values.repo),
  {
    seed: Number(values.seed),
    torch: values.torch as TorchRelease,
    gpu,
    ranks: Number(values.ranks),
    mount: values.mount,
    commit: values.commit,
    attempt: Number(values.attempt),
    memoryLines: values['memory-lines'] === 'megatron' ? 'megatron' : 'bridge',
    stragglers: values.stragglers === 'nvrx' ? 'nvrx' : 'megatron',
  },
  values.output,
);
process.exitCode = run.ending === 'completed' ? 0 : 1;
