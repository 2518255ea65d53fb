/** `advise` as its user calls it. */
import { describe, expect, it } from 'vitest';
import type { AdviseResult } from '../../src/model/results/advise.js';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import { asker } from '../support/ask.js';
import { samplePath } from '../support/stores.js';
import { oomLines } from '../support/training-log.js';

const SAMPLE = samplePath('capacity');
const { ends, text, json, refuse, put } = asker();
let runs = 0;

/** The path of a new run of these files. */
function runOf(files: Readonly<Record<string, string>>): string {
  runs += 1;
  for (const [name, content] of Object.entries(files)) put(`run-${runs}/${name}`, content);
  return `./run-${runs}`;
}
const adviceOf = (path: string) => json<AdviseResult>('advise', path);

describe('advise', () => {
  it('gives a full device what helps, and what a first step had yet to allocate', () => {
    const advice = adviceOf(SAMPLE);
    expect(advice).toMatchObject({ schema: 'mbforensics/advise@1', cause: 'capacity', rank: 1 });
    expect(advice.shortfall_bytes).toBe(264_624_128);
    expect(advice.to_come_text).toContain('optimizer state');
    // The whole step is not known to fit after any change.
    expect(advice.plan?.closes).toBeNull();
    expect(advice.fixes.every(({ closes }) => closes !== true)).toBe(true);
    expect(advice.actions).toHaveLength(1);
    expect(advice.next[0]).not.toMatch(/enough|not measured/);
    expect(advice.non_fixes.map(({ id }) => id)).toEqual(expect.arrayContaining(['vpp', 'expandable-segments']));
    expect(advice.symptoms.map(({ id }) => id)).toEqual(expect.arrayContaining(['S2', 'S3']));
    // The first screen shows the same.
    const screen = json<DiagnoseResult>('diagnose', SAMPLE);
    expect(screen.advice?.plan).toEqual(advice.plan?.fixes);
    expect(screen.advice?.actions).toEqual(advice.actions);
    expect(screen.verdicts[0]!.next).toEqual(advice.next);
    expect(screen.advice?.fixes.map(({ id }) => id)).toEqual(advice.fixes.map(({ id }) => id));
  });

  it('shows one fix whole, with the lines of any framework', () => {
    const screen = text('advise', SAMPLE, '--fix', 'pp-16', '--paste', 'megatron-lm');
    expect(screen).toMatch(/^Fix pp-16: /);
    expect(screen).toContain('--pipeline-model-parallel-size 16');
    expect(screen).not.toContain('cfg.model');
    expect(screen).toContain('\nDisputed\n');
    expect(refuse(2, 'advise', SAMPLE, '--fix', 'pp-17')).toContain('expected one of');
    ends(2, 'advise', SAMPLE, '--paste', 'horovod');
  });

  it('invents nothing for a lone message: no sizes, no layout, and a note', () => {
    const advice = adviceOf(runOf({ 'train.log': `${oomLines(0).join('\n')}\n` }));
    expect(advice.fixes.every(({ id }) => !/^(?:pp|tp|cp|ep)-/.test(id))).toBe(true);
    expect(advice.fixes.every(({ saving_bytes: bytes, saving_by: by }) => bytes === null || by === 'message')).toBe(
      true,
    );
    expect(advice.limits.join(' ')).toContain('No configuration was read');
  });

  it.each([
    [
      'a line of its log',
      ' iteration        7/     100 | consumed samples:          224 | elapsed time per iteration (ms): 900.1 | lm loss: 2.0E+00 |',
      true,
    ],
    ['a setting', '+ torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 8', true],
    ['nothing', '+ torchrun run_clm.py --per_device_train_batch_size 8 --gradient_checkpointing False', false],
    // Other trainers have names of their own for the same settings.
    [
      'nothing of it',
      '+ torchrun train.py --activation_checkpoint.mode selective --parallelism.tensor_parallel_degree 2',
      false,
    ],
    ['an engine for rollouts', '+ python main_ppo.py --rollout.tensor_model_parallel_size 2', false],
  ])('knows a run of Megatron by %s', (_, line, isMegatron) => {
    // The traceback of these lines has a frame of Megatron.
    const message = oomLines(0).filter((text) => !text.includes('megatron'));
    const { limits } = adviceOf(runOf({ 'train.log': `${line}\n${message.join('\n')}\n` }));
    expect(limits.some((text) => text.includes('comes from Megatron'))).toBe(!isMegatron);
  });

  it('has nothing to advise where nothing ran out of memory', () => {
    const run = runOf({ 'train.log': 'starting training\n iteration 1/ 10 | loss: 2.0 |\n' });
    expect(adviceOf(run)).toMatchObject({ cause: 'undecided', fixes: [], plan: null, non_fixes: [] });
    expect(text('advise', run)).toMatch(/^Advice: undecided · /);
  });

  it('never advises what a script or configuration next to the log forbids', () => {
    const fragmented = oomLines(0, 2, 60, 15).join('\n');
    const script = (extra: string) =>
      `#!/bin/bash\n#SBATCH --nodes=1\nexport NCCL_DEBUG=WARN\nsrun python pretrain_gpt.py --tensor-model-parallel-size 2 ${extra}\n`;
    const adviceWith = (extra: string): AdviseResult =>
      adviceOf(runOf({ 'train.log': `${fragmented}\n`, 'launch.sbatch': script(extra) }));
    const plain = adviceWith('');
    expect(plain.cause).toBe('fragmentation');
    expect(plain.fixes[0]).toMatchObject({
      id: 'expandable-segments',
      rank: 1,
      status: 'recommended',
      // A message does not show what the rest of the step needs.
      closes: null,
      saving_by: 'message',
    });
    const buffers = adviceWith('--use-nccl-ub').fixes.find(({ id }) => id === 'expandable-segments');
    expect(buffers?.status).toBe('conditional');
    expect(buffers?.requires.join(' ')).toContain('ub-expand');
    const graphs = adviceWith('--cuda-graph-impl transformer_engine').fixes.find(
      ({ id }) => id === 'expandable-segments',
    );
    expect(graphs?.change.env).toEqual({
      PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True',
      NCCL_GRAPH_REGISTER: '0',
    });
    expect(graphs?.paste.sbatch).toContain('export NCCL_GRAPH_REGISTER=0');
  });
});
