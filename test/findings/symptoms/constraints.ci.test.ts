/** Refusals: the message fires, the configuration makes sure, and neither does the other's work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trainingLog } from '../../support/training-log.js';
import { answer, envDump, hitOf, type Observed, observe, raised } from './observed.js';

type Settings = Readonly<Record<string, string | number>>;

interface Case {
  readonly id: string;
  readonly error: string;
  /** A configuration that has what the message complains of, and one that has not. */
  readonly has: Settings;
  readonly lacks: Settings;
  /** Of the process; missing: none is known. */
  readonly env?: Readonly<Record<string, string>>;
}

const EXPANDABLE = { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' };

const CASES: readonly Case[] = [
  {
    id: 'S4',
    error: 'ValueError: Currently there is no support for Pipeline parallelism with CPU offloading',
    has: { cpu_offloading: 'True', pipeline_model_parallel_size: 4 },
    lacks: { cpu_offloading: 'True', pipeline_model_parallel_size: 1 },
  },
  {
    id: 'S5',
    error:
      'ValueError: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True is currently not supported with nccl_ub due to compatibility issue with torch.cuda.MemPool API.',
    has: { nccl_ub: 'True' },
    lacks: { nccl_ub: 'False' },
    env: EXPANDABLE,
  },
  {
    id: 'S8',
    error: 'AssertionError: full recompute is only supported with full iteration CUDA graph.',
    has: { recompute_granularity: 'full', cuda_graph_impl: 'transformer_engine' },
    lacks: { recompute_granularity: 'selective', cuda_graph_impl: 'transformer_engine' },
  },
  {
    id: 'S12',
    error: 'ValueError: CPU offloading does not work when activation recomputation is enabled',
    has: { cpu_offloading: 'True', recompute_granularity: 'selective' },
    lacks: { cpu_offloading: 'True', recompute_granularity: 'None' },
  },
  {
    id: 'S13',
    error: 'AssertionError: fine_grained_activation_offloading cannot be enabled with cpu_offloading.',
    has: { cpu_offloading: 'True', fine_grained_activation_offloading: 'True' },
    lacks: { cpu_offloading: 'True', fine_grained_activation_offloading: 'False' },
  },
  {
    id: 'S14',
    error: 'ValueError: CUDA graphs not supported with CPU offloading.',
    has: { cpu_offloading: 'True', cuda_graph_impl: 'local' },
    lacks: { cpu_offloading: 'True', cuda_graph_impl: 'none' },
  },
  {
    id: 'S18',
    error:
      'ValueError: number of layers on each middle pipeline rank:20 must be divisible by virtualpipeline parallel degree 3',
    has: { num_layers: 80, pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 3 },
    lacks: { num_layers: 80, pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 5 },
  },
  {
    id: 'S19',
    error:
      'AssertionError: Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.',
    has: { cuda_graph_impl: 'transformer_engine' },
    lacks: { cuda_graph_impl: 'none' },
    env: EXPANDABLE,
  },
];

const log = (settings: Settings, after: readonly string[] = []): string =>
  trainingLog({ iterations: 0, arguments: settings, after, finished: false });

const FAULT = ['[rank0]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered'];
const GRAPHS = { cuda_graph_impl: 'local', num_layers: 32 };

let runs: Observed;
beforeAll(async () => {
  const files: Record<string, Record<string, string>> = {};
  for (const { id, error, has, lacks, env } of CASES) {
    const dump: Record<string, string> = env === undefined ? {} : { environ: envDump(env) };
    files[`${id}-has`] = { 'train.log': log(has, raised(error)), ...dump };
    files[`${id}-lacks`] = { 'train.log': log(lacks, raised(error)), ...dump };
    files[`${id}-bare`] = { 'train.log': `${raised(error).join('\n')}\n` };
    files[`${id}-unfailed`] = { 'train.log': log(has), ...dump };
  }
  const layout = { num_layers: 62, pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 3 };
  files['own-layout'] = {
    'train.log': log({ ...layout, num_layers_in_first_pipeline_stage: 2 }, raised(CASES[6]!.error)),
  };
  files['old-graphs'] = {
    'train.log': log(
      GRAPHS,
      raised(
        'AssertionError: expandable_segments:True may not be safe when using CUDA Graphs, and may result in a crash due to illegal memory access',
      ),
    ),
    environ: envDump({ ...EXPANDABLE, NCCL_GRAPH_REGISTER: '0' }),
  };
  files['fault'] = { 'train.log': log(GRAPHS, FAULT), environ: envDump(EXPANDABLE) };
  files['fault-set'] = {
    'train.log': log(GRAPHS, FAULT),
    environ: envDump({ ...EXPANDABLE, NCCL_GRAPH_REGISTER: '0' }),
  };
  files['fault-script'] = {
    'train.log': log(GRAPHS, FAULT),
    'launch.sbatch': `#!/bin/bash\n#SBATCH --nodes=1\nexport ${Object.entries(EXPANDABLE)[0]!.join('=')}\ntorchrun train.py\n`,
  };
  files['fault-default'] = { 'train.log': log(GRAPHS, FAULT), environ: envDump({ NCCL_DEBUG: 'WARN' }) };
  files['fault-no-graphs'] = {
    'train.log': log({ cuda_graph_impl: 'none', num_layers: 32 }, FAULT),
    environ: envDump(EXPANDABLE),
  };
  runs = await observe(files);
});
afterAll(() => runs.close());

describe.each(CASES)('$id', ({ id, error }) => {
  it('is confirmed by a configuration that has what the message says', async () => {
    const hit = hitOf(await runs.of(`${id}-has`), id)!;
    expect(hit).toMatchObject({
      id,
      confirmation: 'confirmed',
      source: expect.stringMatching(/^train\.log line \d+$/),
    });
    expect(hit.seen).toContain(error.slice(error.indexOf(' ') + 1).slice(0, 40));
  });

  it('is refuted by one that has not', async () => {
    expect(answer(await runs.of(`${id}-lacks`), id)).toBe('refuted');
  });

  it('stays untested where nothing but the message is known, and reports what is missing', async () => {
    const hit = hitOf(await runs.of(`${id}-bare`), id)!;
    expect(hit.confirmation).toBe('untested');
    expect(hit.confirmation_text).toMatch(/not in what was read: add/);
  });

  it('is silent without the message: what would fail is for lint to say', async () => {
    expect(answer(await runs.of(`${id}-unfailed`), id)).toBe('silent');
  });
});

describe('rows of three guides about one refusal', () => {
  it('are told once, with the others named', async () => {
    const evidence = await runs.of('S4-has');
    expect(hitOf(evidence, 'S9')).toBeUndefined();
    expect(hitOf(evidence, 'S11')).toBeUndefined();
    const hit = hitOf(evidence, 'S4')!;
    expect(hit.symptom).toContain('(also S9 and S11)');
    expect(hit.fix).toContain('optimizer_cpu_offload');
  });
});

describe('S18', () => {
  it('reports the sum, and takes the message for it where stages have layers of their own', async () => {
    expect(hitOf(await runs.of('S18-has'), 'S18')!.confirmation_text).toContain('20 % 3 = 2');
    expect(hitOf(await runs.of('own-layout'), 'S18')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: 'as the message has it: 20 layers, 3 virtual stages',
    });
  });
});

describe('S19', () => {
  it('needs no variable for the assertion of core 0.14 and 0.15', async () => {
    expect(answer(await runs.of('old-graphs'), 'S19')).toBe('confirmed');
  });

  it('takes a fault with graphs and expandable segments, by the variable of the process', async () => {
    expect(answer(await runs.of('fault'), 'S19')).toBe('confirmed');
    expect(answer(await runs.of('fault-set'), 'S19')).toBe('refuted');
  });

  it('does not trust a script that just does not mention the variable', async () => {
    expect(hitOf(await runs.of('fault-script'), 'S19')).toMatchObject({
      confirmation: 'untested',
      confirmation_text: expect.stringContaining('NCCL_GRAPH_REGISTER'),
    });
  });

  it('is silent of a fault without graphs, or without expandable segments', async () => {
    expect(answer(await runs.of('fault-default'), 'S19')).toBe('silent');
    expect(answer(await runs.of('fault-no-graphs'), 'S19')).toBe('silent');
  });
});
