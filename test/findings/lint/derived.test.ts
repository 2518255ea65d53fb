import { describe, expect, it } from 'vitest';
import { derived } from '../../../src/findings/settings/derived.js';
import { type Config, type Given, LM, MB, rawFacts } from './raw-facts.js';

/** The values of some keys after start-up; undefined where nothing is set or follows. */
function outcome(config: Config, keys: readonly string[], given: Given = {}): (string | null | undefined)[] {
  const settings = derived(rawFacts(config, given));
  return keys.map((key) => settings.get(key)?.value);
}

describe('CUDA graphs', () => {
  const graphs = (config: Config, given: Given = {}): (string | null | undefined)[] =>
    outcome(config, ['cuda_graph_impl', 'cuda_graph_modules'], given);

  it('are switched on by older spellings, unless an implementation is named', () => {
    expect(graphs({ enable_cuda_graph: 'True' })).toEqual(['local', undefined]);
    expect(graphs({ external_cuda_graph: 'True', cuda_graph_impl: 'none' })).toEqual(['transformer_engine', undefined]);
    expect(graphs({ enable_cuda_graph: 'True', cuda_graph_impl: 'transformer_engine' })[0]).toBe('transformer_engine');
    expect(graphs({ enable_cuda_graph: 'False' })[0]).toBeUndefined();
  });

  it('are of the full iteration by an older scope, and then have no modules', () => {
    expect(graphs({ enable_cuda_graph: 'True', cuda_graph_modules: '["full_iteration"]' })).toEqual([
      'full_iteration',
      '[]',
    ]);
    expect(graphs({ cuda_graph_impl: 'local', cuda_graph_modules: '["full_iteration"]' })).toEqual([
      'full_iteration',
      '[]',
    ]);
    expect(graphs({ cuda_graph_impl: 'local', cuda_graph_modules: '["full_iteration_inference"]' })[0]).toBe('local');
    const place = derived(
      rawFacts({ num_layers: '1', enable_cuda_graph: 'True', cuda_graph_modules: 'full_iteration' }),
    );
    expect(place.get('cuda_graph_impl')).toMatchObject({ line: 2, raw_key: 'enable_cuda_graph' });
  });

  it('follow a scope alone only in releases that migrate it', () => {
    const config = { cuda_graph_impl: 'none', cuda_graph_modules: '["full_iteration"]' };
    const old = { raw: { cuda_graph_modules: 'model.cuda_graph_scope' } };
    expect(graphs(config, old)[0]).toBe('none');
    expect(graphs(config, { ...old, versions: { megatron_core: '0.17.0' } })[0]).toBe('none');
    expect(graphs(config, { ...old, versions: { megatron_core: '0.19.0' } })[0]).toBe('full_iteration');
    expect(graphs(config)[0]).toBe('full_iteration');
  });

  it('take `full` for whole layers', () => {
    expect(graphs({ cuda_graph_impl: 'local', cuda_graph_modules: '["full"]' })).toEqual(['local', '[]']);
  });

  it("turn on the engine's random numbers in Megatron-LM alone", () => {
    const config = { cuda_graph_impl: 'local' };
    expect(outcome(config, ['use_te_rng_tracker'], LM)).toEqual(['True']);
    expect(outcome({ ...config, transformer_impl: 'local' }, ['use_te_rng_tracker'], LM)).toEqual([undefined]);
    expect(outcome(config, ['use_te_rng_tracker'], MB)).toEqual([undefined]);
  });
});

describe('recompute', () => {
  const keys = ['recompute_granularity', 'recompute_modules'];

  it('is selective by --recompute-activations, of the core of attention', () => {
    expect(outcome({ recompute_activations: 'True' }, keys)).toEqual(['selective', '["core_attn"]']);
    expect(outcome({ recompute_activations: 'True', recompute_granularity: 'full' }, keys)[0]).toBe('full');
    expect(outcome({ recompute_activations: 'True', recompute_granularity: 'full' }, keys, LM)[0]).toBe('selective');
    expect(outcome({ recompute_granularity: 'selective', recompute_modules: '[]' }, keys)[1]).toBe('[]');
    expect(outcome({ checkpoint_activations: 'True' }, keys)).toEqual([undefined, undefined]);
  });

  it('of expert layers is a module', () => {
    expect(outcome({ moe_layer_recompute: 'True' }, keys)).toEqual(['selective', '["core_attn","moe"]']);
    expect(outcome({ moe_layer_recompute: 'True', recompute_granularity: 'full' }, keys)).toEqual(['full', undefined]);
  });
});

describe('sizes', () => {
  const vpp = (config: Config, given: Given = {}): string | null | undefined =>
    outcome(config, ['virtual_pipeline_model_parallel_size'], given)[0];

  it('of virtual stages are counted or computed', () => {
    const base = { num_layers: '32', pipeline_model_parallel_size: '4' };
    expect(vpp({ ...base, num_virtual_stages_per_pipeline_rank: '2' })).toBe('2');
    expect(vpp({ ...base, num_virtual_stages_per_pipeline_rank: '1' })).toBeNull();
    expect(vpp({ ...base, num_layers_per_virtual_pipeline_stage: '2' })).toBe('4');
    expect(vpp({ ...base, num_layers_per_virtual_pipeline_stage: '8' })).toBeNull();
    expect(vpp({ ...base, num_layers_per_virtual_pipeline_stage: '3' })).toBeUndefined();
    const odd = { ...base, num_layers: '30', account_for_embedding_in_pipeline_split: 'True' };
    expect(
      vpp({ ...odd, account_for_loss_in_pipeline_split: 'True', num_layers_per_virtual_pipeline_stage: '4' }),
    ).toBe('2');
  });

  it('of virtual stages follow a layout', () => {
    const layout = { pipeline_model_parallel_size: '8', pipeline_model_parallel_layout: 'Et*3|(tt|)*29,m|L' };
    expect(vpp(layout, LM)).toBe('4');
    expect(vpp({ ...layout, pipeline_model_parallel_size: '32' }, LM)).toBeNull();
    expect(vpp({ ...layout, pipeline_model_parallel_layout: '(t|)*99999' }, LM)).toBeUndefined();
    expect(vpp(layout, MB)).toBeUndefined();
  });

  it('of data parallelism follow from the world', () => {
    expect(outcome({ world_size: '64', tensor_model_parallel_size: '4' }, ['data_parallel_size'])).toEqual(['16']);
  });

  it('of the global batch are one microbatch a step', () => {
    const config = { world_size: '16', tensor_model_parallel_size: '4', micro_batch_size: '2' };
    expect(outcome(config, ['global_batch_size'], LM)).toEqual(['8']);
    expect(outcome({ ...config, global_batch_size: '64' }, ['global_batch_size'], MB)).toEqual(['64']);
    expect(outcome(config, ['global_batch_size'])).toEqual([undefined]);
  });

  it('of the experts follow those of the model', () => {
    const config = { tensor_model_parallel_size: '4', expert_model_parallel_size: '8' };
    expect(outcome(config, ['expert_tensor_parallel_size'], LM)).toEqual(['4']);
    expect(outcome(config, ['expert_tensor_parallel_size'], MB)).toEqual(['1']);
    expect(outcome(config, ['expert_tensor_parallel_size'], { ...MB, versions: { megatron_bridge: '0.3.0' } })).toEqual(
      ['4'],
    );
    expect(outcome({ ...config, expert_tensor_parallel_size: '2' }, ['expert_tensor_parallel_size'], MB)).toEqual([
      '2',
    ]);
  });

  it('of no experts are none', () => {
    expect(outcome({ num_moe_experts: '0' }, ['num_moe_experts'])).toEqual([null]);
    expect(outcome({ num_moe_experts: '8' }, ['num_moe_experts'])).toEqual(['8']);
  });

  it('take sequence parallelism back without tensor parallelism', () => {
    const config = { sequence_parallel: 'True', tensor_model_parallel_size: '1' };
    expect(outcome(config, ['sequence_parallel'], LM)).toEqual(['False']);
    expect(outcome({ sequence_parallel: 'True' }, ['sequence_parallel'], LM)).toEqual(['False']);
    expect(outcome(config, ['sequence_parallel'], MB)).toEqual(['False']);
    // A recipe may have the size.
    expect(outcome({ sequence_parallel: 'True' }, ['sequence_parallel'], MB)).toEqual(['True']);
    expect(outcome(config, ['sequence_parallel'])).toEqual(['True']);
  });
});

describe('Megatron-LM', () => {
  it('offloads layers where their number is set', () => {
    expect(outcome({ cpu_offloading_num_layers: '4' }, ['cpu_offloading'], LM)).toEqual(['True']);
    expect(outcome({ cpu_offloading_num_layers: '0' }, ['cpu_offloading'], LM)).toEqual([undefined]);
    expect(outcome({ cpu_offloading_num_layers: '4' }, ['cpu_offloading'], MB)).toEqual([undefined]);
  });

  it('reduces gradients of bf16 in fp32', () => {
    const keys = ['params_dtype', 'pipeline_dtype', 'grad_reduce_in_fp32', 'accumulate_allreduce_grads_in_fp32'];
    expect(outcome({ bf16: 'True' }, keys, LM)).toEqual(['bfloat16', 'bfloat16', 'True', 'True']);
    expect(outcome({ bf16: 'True', grad_reduce_in_bf16: 'True' }, keys, LM).slice(2)).toEqual(['False', 'False']);
    expect(outcome({ bf16: 'True', main_grads_dtype: 'bf16' }, keys, LM).slice(2)).toEqual([undefined, undefined]);
    expect(outcome({ bf16: 'True' }, keys)).toEqual([undefined, undefined, undefined, undefined]);
    expect(outcome({ pipeline_model_parallel_size: '2' }, keys, LM)[1]).toBe('float32');
  });

  it('checks nothing for NaN where the loss is scaled', () => {
    expect(outcome({ fp16: 'True' }, ['check_for_nan_in_loss_and_grad'], LM)).toEqual(['False']);
    expect(outcome({ fp16: 'True', loss_scale: '1024' }, ['check_for_nan_in_loss_and_grad'], LM)).toEqual([undefined]);
  });
});

describe('Megatron Bridge', () => {
  it('gives Megatron-FSDP its distributed optimizer', () => {
    const config = {
      use_megatron_fsdp: 'True',
      use_distributed_optimizer: 'False',
      average_in_collective: 'True',
      nccl_ub: 'True',
    };
    const keys = [
      'use_distributed_optimizer',
      'average_in_collective',
      'fsdp_manual_registration',
      'fsdp_double_buffer',
    ];
    expect(outcome(config, keys, MB)).toEqual(['True', 'False', 'True', 'True']);
    expect(outcome(config, keys, LM)).toEqual(['False', 'True', undefined, 'True']);
    expect(outcome({ ...config, disable_symmetric_registration: 'True' }, keys, MB)[1]).toBe('True');
    expect(
      outcome({ ...config, megatron_fsdp_version: '2' }, [...keys, 'data_parallel_sharding_strategy'], MB),
    ).toEqual(['False', 'True', undefined, 'True', 'optim_grads_params']);
  });

  it('leaves what the run itself printed', () => {
    const config = { use_megatron_fsdp: 'True', use_distributed_optimizer: 'False' };
    expect(outcome(config, ['use_distributed_optimizer'], { ...MB, origin: 'log dump' })).toEqual(['False']);
  });

  it('sends activations in the type of the parameters', () => {
    const pp = { pipeline_model_parallel_size: '2' };
    expect(outcome(pp, ['pipeline_dtype'], MB)).toEqual(['float32']);
    expect(outcome({ ...pp, bf16: 'True' }, ['pipeline_dtype'], MB)).toEqual(['bfloat16']);
    expect(outcome({ ...pp, params_dtype: 'float16' }, ['pipeline_dtype'], MB)).toEqual(['float16']);
    expect(outcome(pp, ['pipeline_dtype'])).toEqual([undefined]);
  });

  it('overwrites overlaps by their section', () => {
    const raw = { tp_comm_overlap: 'comm_overlap.tp_comm_overlap', bucket_size: 'comm_overlap.bucket_size' };
    const config = {
      tp_comm_overlap: 'True',
      tensor_model_parallel_size: '1',
      pipeline_model_parallel_size: '2',
      virtual_pipeline_model_parallel_size: '2',
      data_parallel_size: '8',
      use_distributed_optimizer: 'True',
      overlap_grad_reduce: 'False',
    };
    const keys = ['tp_comm_overlap', 'overlap_p2p_comm', 'overlap_grad_reduce', 'align_param_gather', 'bucket_size'];
    expect(outcome(config, keys, { ...MB, raw })).toEqual(['False', 'True', 'True', 'True', '134217728']);
    expect(outcome({ ...config, bucket_size: '1000' }, keys, { ...MB, raw })[4]).toBe('1000');
    expect(outcome(config, keys, MB)).toEqual(['True', undefined, 'False', undefined, undefined]);
  });
});

describe('NeMo', () => {
  it('names its FSDP', () => {
    const keys = ['use_torch_fsdp2', 'use_megatron_fsdp'];
    expect(outcome({ 'strategy.fsdp': 'pytorch' }, keys, { framework: 'nemo' })).toEqual(['True', undefined]);
    expect(outcome({ 'strategy.fsdp': 'megatron' }, keys, { framework: 'nemo' })).toEqual([undefined, 'True']);
  });
});
