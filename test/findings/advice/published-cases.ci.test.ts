/** Advice on the workloads whose experiments were published: the advice has to match what was measured there. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AdviceFix, AdviseResult } from '../../../src/model/results/advise.js';
import { QWEN_PRINTED } from '../../support/advice-situation.js';
import { buildCli } from '../../support/cli.js';
import { samplePath, sampleStore } from '../../support/stores.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { oomLines, trainingLog } from '../../support/training-log.js';

const SAMPLE = samplePath('llama3-70b-fragmentation');

const cli = buildCli();
const directory = temporaryDirectory();
const env = { XDG_CACHE_HOME: join(directory, 'cache') };

const adviceOn = (run: string): AdviseResult =>
  cli.expect(0, ['advise', run, '--json=full'], { env }).json<AdviseResult>();

function fixOf({ fixes }: AdviseResult, id: string): AdviceFix {
  const fix = fixes.find((one) => one.id === id);
  if (fix === undefined) throw new Error(`no ${id} among ${fixes.map((one) => one.id).join(', ')}`);
  return fix;
}

/** The published run with its configuration changed: in the file, and where every rank printed it. */
function variant(name: string, edit: (yaml: string) => string, ...lines: readonly string[]): string {
  const run = join(directory, name);
  cpSync(SAMPLE, run, { recursive: true });
  for (const file of readdirSync(run)) {
    if (!/\.(?:out|yaml)$/.test(file)) continue;
    const path = join(run, file);
    const isFirst = file.includes('-037_');
    const text = edit(readFileSync(path, 'utf8'));
    writeFileSync(path, isFirst ? `${lines.map((line) => `${line}\n`).join('')}${text}` : text);
  }
  return run;
}

const userBuffers = (text: string): string =>
  text.replaceAll(/^(.*)overlap_param_gather: true$/gm, '$1nccl_ub: true\n$&');
const graphs = (text: string): string =>
  text.replaceAll(
    /^(.*)enable_cuda_graph: false$/gm,
    '$1cuda_graph_impl: transformer_engine\n$1use_te_rng_tracker: true',
  );

const isOpen = ({ status }: AdviceFix): boolean => status === 'recommended' || status === 'possible';

describe('Llama3 70B on 32 GPUs, out of memory by fragmentation', () => {
  let advice: AdviseResult;
  beforeAll(() => {
    advice = cli.expect(0, ['advise', '--db', sampleStore('llama3-70b-fragmentation'), '--json=full']).json();
  });

  it('recommends expandable segments first, which a replay proves to be enough', () => {
    expect(advice).toMatchObject({ schema: 'mbforensics/advise@1', cause: 'fragmentation' });
    expect(advice.published_case).toMatch(/70B/);
    expect(fixOf(advice, 'expandable-segments')).toMatchObject({
      rank: 1,
      status: 'recommended',
      saving_by: 'what_if',
      closes: true,
      cost_percent: 0,
      forbidden_by: null,
      change: { settings: {}, env: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' } },
    });
    expect(advice.plan).toMatchObject({ fixes: ['expandable-segments'], closes: true, cost_percent: 0 });
  });

  it('prices the others as they were measured, against the run that was changed', () => {
    expect(fixOf(advice, 'pp-8')).toMatchObject({ saving_bytes: 5.6e9, saving_by: 'measured', cost_percent: 5.1 });
    expect(fixOf(advice, 'recompute-mlp')).toMatchObject({
      saving_bytes: 3.2e9,
      saving_by: 'measured',
      cost_percent: 15.7,
    });
    expect(fixOf(advice, 'tp-8')).toMatchObject({ saving_bytes: 8.6e9, saving_by: 'measured', cost_percent: 27.7 });
    for (const id of ['pp-8', 'recompute-mlp', 'tp-8'])
      expect(fixOf(advice, id).evidence.some(({ grade }) => grade === 'measured')).toBe(true);
  });

  it('keeps the order of the guides, tensor parallelism last of what is allowed', () => {
    const ranks = ['expandable-segments', 'pp-8', 'recompute-mlp', 'tp-8'].map((id) => fixOf(advice, id).rank);
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
    expect(advice.fixes.filter(isOpen).at(-1)?.id).toBe('tp-8');
  });

  it('forbids offload of activations, and counts virtual stages among what does not help', () => {
    const offload = fixOf(advice, 'activation-offload');
    expect(offload).toMatchObject({ status: 'forbidden', forbidden_by: 'offload-pp', closes: null });
    expect(offload.forbidden_text).toMatch(/pipeline/i);
    const vpp = advice.non_fixes.find(({ id }) => id === 'vpp');
    expect(JSON.stringify(vpp?.evidence)).toMatch(/60\.2 GB/);
    for (const { id } of advice.fixes) expect(id).not.toMatch(/^vpp/);
  });
});

describe('the same with NCCL user buffers', () => {
  it('forbids expandable segments before torch 2.11, and plans without them', () => {
    const advice = adviceOn(variant('user-buffers-2.9', userBuffers, 'PyTorch version: 2.9.0'));
    const fix = fixOf(advice, 'expandable-segments');
    expect(fix).toMatchObject({ status: 'forbidden', forbidden_by: 'ub-expand', closes: null });
    expect(fix.forbidden_text).toMatch(/nccl_ub/);
    expect(fix.rank).toBeGreaterThan(fixOf(advice, 'tp-8').rank);
    expect(advice.plan?.fixes ?? []).not.toContain('expandable-segments');
  });

  it('does not open them while torch is unknown, and names what is missing', () => {
    const advice = adviceOn(variant('user-buffers', userBuffers));
    const fix = fixOf(advice, 'expandable-segments');
    expect(isOpen(fix)).toBe(false);
    expect(`${fix.forbidden_by} ${fix.requires.join()}`).toMatch(/ub-expand/);
    expect(advice.plan?.fixes ?? []).not.toContain('expandable-segments');
  });

  it('opens them from torch 2.11 on', () => {
    const advice = adviceOn(variant('user-buffers-2.11', userBuffers, 'PyTorch version: 2.11.0'));
    expect(fixOf(advice, 'expandable-segments')).toMatchObject({ status: 'recommended', rank: 1, closes: true });
  });
});

describe('the same with CUDA graphs of Transformer Engine', () => {
  it('sets NCCL_GRAPH_REGISTER=0 with them', () => {
    const fix = fixOf(adviceOn(variant('graphs', graphs)), 'expandable-segments');
    expect(fix.change.env).toEqual({
      PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True',
      NCCL_GRAPH_REGISTER: '0',
    });
    expect(fix.paste.sbatch).toContain('export NCCL_GRAPH_REGISTER=0');
  });
});

describe('Qwen3-30B-A3B on 8 GPUs, out of memory by capacity', () => {
  let advice: AdviseResult;
  beforeAll(() => {
    const run = join(directory, 'qwen3-30b-a3b');
    mkdirSync(run);
    writeFileSync(
      join(run, 'train.log'),
      trainingLog({ iterations: 3, finished: false, arguments: QWEN_PRINTED, after: oomLines(0, 2, 76.5, 0.4) }),
    );
    advice = adviceOn(run);
  });

  it('prices each fraction of optimizer offload as it was measured', () => {
    expect(advice.cause).toBe('capacity');
    expect(advice.published_case).toMatch(/Qwen3/);
    const figures = [25, 50, 75, 100].map((percent) => {
      const { saving_bytes, saving_by, cost_percent } = fixOf(advice, `optimizer-offload-${percent}`);
      return [saving_bytes, saving_by, cost_percent];
    });
    expect(figures).toEqual([
      [3.8e9, 'measured', 47.4],
      [7.6e9, 'measured', 60],
      [11.6e9, 'measured', 68.8],
      [15.3e9, 'measured', 76.2],
    ]);
  });

  it('sets with it what upstream asks for', () => {
    expect(fixOf(advice, 'optimizer-offload-50').change.settings).toMatchObject({
      optimizer_cpu_offload: 'True',
      optimizer_offload_fraction: '0.5',
      use_distributed_optimizer: 'True',
      use_precision_aware_optimizer: 'True',
    });
  });

  it('calls out offload of activations', () => {
    const none = advice.non_fixes.find(({ id }) => id.startsWith('activation-offload'));
    expect(`${none?.why} ${JSON.stringify(none?.evidence)}`).toMatch(/48.*24 layers.*70\.3 GB/);
  });
});
