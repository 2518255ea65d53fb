/** What a stored run says of its own estimate: inputs with their places, stages, or why there is none. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { estimateRun, type RunEstimate } from '../../src/derive/estimate/estimate-run.js';
import { ingest } from '../../src/ingest/ingest.js';
import { scratchDirectory } from '../store/scratch.js';
import { newStore } from '../support/new-store.js';

/** The estimate of a run of one configuration file. */
async function estimated(yaml: string): Promise<RunEstimate> {
  const directory = scratchDirectory();
  const path = join(directory, 'run_config.yaml');
  writeFileSync(path, yaml);
  const store = await newStore(join(directory, 'store.duckdb'));
  try {
    await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [path], run: 'one', now: new Date(0) });
    const [run] = await store.all('store.runs', { run_id: null });
    return await estimateRun(store, run!.run_id);
  } finally {
    await store.close();
  }
}

const MODEL = `
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  num_layers: 4
  hidden_size: 64
  num_attention_heads: 4
  seq_length: 128
  vocab_size: 256
  gated_linear_unit: true
  activation_func:
    _target_: torch.nn.functional.gelu
    _call_: false
  pipeline_model_parallel_size: 2
  num_moe_experts: 4
  moe_layer_freq: '([0]*1+[1]*3)'
  ffn_hidden_size: 128
train:
  micro_batch_size: 1
  global_batch_size: 8
dist:
  world_size: 2
`;

it('has the stages of the run, with the place of every input', async () => {
  const { inputs, estimate, refused } = await estimated(MODEL);
  expect(refused).toBeNull();
  expect(inputs.missing).toEqual([]);
  expect(inputs.values).toContainEqual({
    key: 'hidden_size',
    value: 64,
    origin: expect.stringMatching(/run_config\.yaml line 5$/) as string,
  });
  expect(estimate?.resolved).toMatchObject({ gated: true, swiglu: false, microBatches: 8, world: 2 });
  expect(estimate?.stages.map(({ layers, moe_layers }) => [layers, moe_layers])).toEqual([
    [2, 1],
    [2, 2],
  ]);
  for (const stage of estimate?.stages ?? []) {
    const sum = stage.components.reduce((bytes, component) => bytes + component.bytes, 0);
    expect(sum).toBeCloseTo(stage.total_bytes, 0);
  }
});

it('names what is missing, and what it could not read', async () => {
  const { inputs, estimate } = await estimated('model:\n  num_layers: 4\n  hidden_size: wide\n  seq_length: 128\n');
  expect(estimate).toBeNull();
  expect(inputs.missing).toEqual(['hidden_size', 'num_attention_heads', 'mbs', 'vocab_size']);
  expect(inputs.unread.join()).toContain('hidden_size = "wide" is not a whole number from 1');
});

it('says why a configuration is refused', async () => {
  const { estimate, refused } = await estimated(
    MODEL.replace('num_attention_heads: 4', 'num_attention_heads: 4\n  cpu_offloading: true'),
  );
  expect(estimate).toBeNull();
  expect(refused).toContain('(offload-pp)');
});
