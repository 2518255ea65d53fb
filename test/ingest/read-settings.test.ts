/** Settings straight from files: what is read, with its place, and the result for files without settings. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { factsOfSettings } from '../../src/derive/settings/facts-of-settings.js';
import { readSettingsOf } from '../../src/ingest/finish/read-settings.js';
import type { SettingsRead } from '../../src/model/settings-read.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const BRIDGE = `_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: megatron.bridge.models.llama.LlamaProvider
  num_layers: 48
  tensor_model_parallel_size: 2
  cpu_offloading: true
`;
const SCRIPT = `#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=8
torchrun pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size 8 --tensor-model-parallel-size 4
`;
const LOG = [
  '------------------------ arguments ------------------------',
  '  micro_batch_size ................................ 2',
  '  num_layers ...................................... 40',
  '-------------------- end of arguments ---------------------',
  'PyTorch version: 2.8.0a0+34c6371d24.nv25.08',
  '',
].join('\n');
const ENVIRON = ['PATH=/usr/bin', 'HOME=/root', 'PWD=/x', 'NCCL_DEBUG=WARN', 'NVTE_FLASH_ATTN=1', 'OMP_NUM_THREADS=1'];

describe('settings from files', () => {
  const directory = temporaryDirectory();
  const file = (name: string): string => join(directory, name);
  const config = (...names: string[]): Promise<SettingsRead> =>
    readSettingsOf(names.map((name) => ({ path: file(name), as: 'config' })));
  const env = (name: string): Promise<SettingsRead> => readSettingsOf([{ path: file(name), as: 'env' }]);
  const fault = ({ faults }: SettingsRead): string | undefined => faults[0] && `${faults[0].code} ${faults[0].message}`;
  const last = ({ settings }: SettingsRead, key: string) => settings.filter((one) => one.key === key).at(-1);

  beforeAll(() => {
    const files: Readonly<Record<string, string | Buffer>> = {
      'bridge.yaml': BRIDGE,
      'bridge.yaml.gz': gzipSync(BRIDGE),
      'launch.sbatch': SCRIPT,
      'train.log': LOG,
      'large.log': `${LOG}${'nothing to see here\n'.repeat(80_000)}`,
      'environ.bin': `${ENVIRON.join('\0')}\0`,
      'environ.txt': `${ENVIRON.join('\n')}\n`,
      'selected.txt': 'NCCL_DEBUG=WARN\nNVTE_FLASH_ATTN=1\nNCCL_IB_HCA=x\nNCCL_SHM_DISABLE=1\nUB_SKIPMC=1\n',
      'one.env': '# for docker\nCUDA_DEVICE_MAX_CONNECTIONS=1\n',
      'two.yaml': 'cpu_offloading: true\npipeline_model_parallel_size: 2\n',
      'strange.yaml': 'apples: 1\npears: 2\n',
      'broken.yaml': 'num_layers: 4\ncpu_offloading: true\nhidden_size: 8\nlist: [1, 2\nother: {\n',
      'twice.yaml': 'num_layers: 4\nhidden_size: 8\ncpu_offloading: true\nnum_layers: 6\n',
      'empty.yaml': '',
      'binary.yaml': Buffer.from(Array.from({ length: 4000 }, (_, i) => (i * 7919) % 256)),
      'README.md': '# Settings\n\nnum_layers: 4\nhidden_size: 8\nbf16: true\n',
      'snapshot.pickle': Buffer.from('80049528000000000000007d94', 'hex'),
      'run/conf/bridge.yaml': BRIDGE,
      'run/launch.sbatch': SCRIPT,
      'run/notes.csv': 'a,b\n1,2\n',
      'run/snapshot.pickle': 'not one',
    };
    for (const name of ['run/conf', 'nothing']) mkdirSync(file(name), { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(file(name), content);
  });

  it('are found with their places, compressed or not', async () => {
    for (const name of ['bridge.yaml', 'bridge.yaml.gz']) {
      const read = await config(name);
      expect(read.faults).toEqual([]);
      const place = { file: file(name), line: 6, attempt: 1, fileNumber: 0 };
      const setting = { rawKey: 'model.cpu_offloading', value: 'True', origin: 'run file', ...place };
      expect(last(read, 'cpu_offloading')).toMatchObject(setting);
      expect(read).toMatchObject({ environment: 'none', files: [file(name)], variables: [], figures: [] });
    }
  });

  it('are those of a script with what it exports', async () => {
    const read = await config('launch.sbatch');
    expect(last(read, 'tensor_model_parallel_size')).toMatchObject({ value: '4', origin: 'command line', line: 3 });
    expect(read.environment).toBe('partial');
    expect(read.variables).toMatchObject([{ key: 'CUDA_DEVICE_MAX_CONNECTIONS', value: '8', line: 2 }]);
  });

  it('are those that a log prints, of any length, with versions', async () => {
    for (const name of ['train.log', 'large.log']) {
      const read = await config(name);
      expect(last(read, 'num_layers')).toMatchObject({ value: '40', origin: 'log dump', line: 3, precedence: 1 });
      expect(read.figures).toMatchObject([{ name: 'version.torch', text: '2.8.0a0+34c6371d24.nv25.08', line: 5 }]);
      expect((await factsOfSettings(read)).versions.torch).toBe('2.8.0a0+34c6371d24.nv25.08');
    }
  });

  it('are one configuration: stronger origins win, of equal ones the file named later', async () => {
    const layers = async (...names: string[]): Promise<string | null | undefined> =>
      (await factsOfSettings(await config(...names))).settings.get('num_layers')?.value;
    expect(await layers('bridge.yaml', 'launch.sbatch')).toBe('48');
    expect(await layers('launch.sbatch', 'bridge.yaml')).toBe('48');
    expect(await layers('bridge.yaml', 'train.log')).toBe('40');
    expect(await layers('twice.yaml', 'broken.yaml')).toBe('4');
    expect(await layers('broken.yaml', 'twice.yaml')).toBe('6');
  });

  it('keeps its own name and line whichever file wins', async () => {
    const facts = await factsOfSettings(await config('broken.yaml', 'twice.yaml'));
    expect(facts.settings.get('num_layers')).toMatchObject({ file: file('twice.yaml'), line: 4 });
  });

  it('distinguishes a captured environment from a selection', async () => {
    for (const name of ['environ.bin', 'environ.txt']) {
      const read = await env(name);
      expect(read.environment).toBe('whole');
      expect(read.variables.map(({ key }) => key)).toEqual(['NCCL_DEBUG', 'NVTE_FLASH_ATTN', 'OMP_NUM_THREADS']);
    }
    expect((await env('selected.txt')).environment).toBe('partial');
    const selection = await env('one.env');
    expect(selection.environment).toBe('partial');
    expect(selection.variables).toMatchObject([{ key: 'CUDA_DEVICE_MAX_CONNECTIONS', value: '1', line: 2 }]);
  });

  it('takes variables only from what was named as an environment', async () => {
    const read = await env('launch.sbatch');
    expect(read).toMatchObject({ environment: 'partial', settings: [], faults: [] });
    expect(read.variables).toHaveLength(1);
  });

  it('walks a directory and decodes no snapshot', async () => {
    const read = await config('run');
    expect(read.faults).toEqual([]);
    expect(read.files).toEqual([join(file('run'), 'conf/bridge.yaml'), join(file('run'), 'launch.sbatch')]);
    expect(fault(await config('nothing'))).toBe('MBF2202 no file in it holds a setting of a training job');
  });

  it('takes a pipe for what it holds', async () => {
    const json = '{"num_layers": 2, "hidden_size": 8, "bf16": true}';
    for (const text of [BRIDGE, 'cpu_offloading: true\nnum_layers: 2\n', SCRIPT, json, LOG]) {
      const read = await readSettingsOf([{ path: '<stdin>', as: 'config', bytes: Buffer.from(text) }]);
      expect(read.faults, text).toEqual([]);
      expect(read.settings.length, text).toBeGreaterThan(1);
    }
  });

  it('is content with two settings of a file that was named', async () => {
    expect((await config('two.yaml')).settings).toHaveLength(2);
  });

  it.each([
    ['missing.yaml', /^MBF1003 no such file or directory$/],
    ['empty.yaml', /^MBF2004 is empty$/],
    ['strange.yaml', /^MBF2202 holds no setting/],
    ['binary.yaml', /^MBF2202 holds no setting/],
    ['README.md', /^MBF2202 holds no setting/],
    ['snapshot.pickle', /^MBF2202 holds no setting: it is a PyTorch CUDA memory snapshot/],
  ])('reports what is wrong with %s and reads the others', async (name, message) => {
    expect(fault(await config(name))).toMatch(message);
    const both = await config(name, 'two.yaml');
    expect(both.faults.map(({ place }) => place.file)).toEqual([file(name)]);
    expect(both.settings).toHaveLength(2);
  });

  it('reports an environment without variables', async () => {
    expect(fault(await env('strange.yaml'))).toBe('MBF2202 holds no variable of an environment');
  });

  it('keeps the settings before the damage', async () => {
    const read = await config('broken.yaml');
    expect(read.faults[0]).toMatchObject({ code: 'MBF2202', place: { file: file('broken.yaml') } });
    expect(read.faults[0]!.place.line).toBeGreaterThan(3);
    expect(last(read, 'cpu_offloading')?.value).toBe('True');
    expect((await config('twice.yaml')).warnings).toMatchObject([{ line: 4, text: expect.stringContaining('twice') }]);
  });
});
