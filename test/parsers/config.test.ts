// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalConfigKey,
  configFinding,
  configKeys,
  flagFinding,
  normaliseConfigValue,
} from '../../src/knowledge/config-keys.js';
import { envFinding, keepsEnv, MOST_ENV_CHARS } from '../../src/knowledge/env-keys.js';
import { readShellSettings } from '../../src/text/shell-settings.js';
import { SEED } from '../support/level.js';

const shell = (text: string): string[] =>
  readShellSettings(text).map(({ finding, at }) => {
    const line = text.slice(0, at).split('\n').length;
    return `${finding.row === 'env' ? '$' : ''}${finding.key}=${finding.value}@${line}`;
  });

describe('canonical keys', () => {
  it.each([
    ['--tensor-model-parallel-size', 'tensor_model_parallel_size'],
    ['model.tensor_model_parallel_size', 'tensor_model_parallel_size'],
    ['recipe.trainer.strategy.tensor_model_parallel_size', 'tensor_model_parallel_size'],
    ['model_parallel_size', 'tensor_model_parallel_size'],
    ['-tp', 'tensor_model_parallel_size'],
    ['parallelism.tensor_parallel_degree', 'tensor_model_parallel_size'],
    ['batch_size', 'micro_batch_size'],
    ['dataset.batch_size', 'batch_size'],
    ['train_micro_batch_size_per_gpu', 'micro_batch_size'],
    ['model.encoder_seq_length', 'seq_length'],
    ['trainer.devices', 'nproc_per_node'],
    ['devices', 'devices'],
    ['trainer.max_steps', 'train_iters'],
    ['zero_optimization.stage', 'zero_stage'],
    ['pipeline.stage', 'pipeline.stage'],
    ['fp16.enabled', 'fp16'],
    ['flops_profiler.enabled', 'flops_profiler.enabled'],
    ['zero_optimization.offload_optimizer.device', 'zero_offload_optimizer_device'],
    ['optimizer.lr', 'lr'],
    ['model.optim.lr', 'lr'],
    ['optimizer.params.lr', 'lr'],
    ['cuda_graph_scope', 'cuda_graph_modules'],
    ['recipe.model.config.recompute_granuality', 'recompute_granularity'],
    ['model.activations_checkpoint_granularity', 'recompute_granularity'],
    ['--use-nccl-ub', 'nccl_ub'],
    ['tokenizer.vocab_size', 'tokenizer.vocab_size'],
    ['model.vocab_size', 'vocab_size'],
    ['model.data.validation_ds.global_batch_size', 'validation_ds.global_batch_size'],
    ['vision_config.hidden_size', 'vision_config.hidden_size'],
    ['text_config.hidden_size', 'hidden_size'],
    ['aio_config.block_size', 'aio.block_size'],
    ['model._target_', 'model._target_'],
    ['callbacks.0.gc_interval_train', 'manual_gc_interval'],
    ['my.own_setting', 'own_setting'],
    ['constructor', 'constructor'],
    ['__proto__', '__proto__'],
  ])('%s → %s', (raw, key) => {
    expect(canonicalConfigKey(raw)).toBe(key);
  });

  it('are found by their own name, and no spelling belongs to two of them', () => {
    const spellings = [...configKeys()].flat(2);
    expect(spellings.length).toBe(new Set(spellings).size);
    for (const key of configKeys().keys()) expect(canonicalConfigKey(key)).toBe(key);
  });

  it('know every setting of the constraints', () => {
    const needed =
      'pipeline_model_parallel_size cpu_offloading cpu_offloading_num_layers num_layers recompute_granularity cuda_graph_impl fine_grained_activation_offloading transformer_impl offload_modules recompute_modules recompute_method recompute_num_layers moe_paged_stash moe_expert_rank_capacity_factor moe_grouped_gemm multi_latent_attention moe_shared_expert_overlap fp8 fp8_recipe distribute_saved_activations sequence_parallel moe_layer_recompute overlap_moe_expert_parallel_comm expert_model_parallel_size moe_token_dispatcher_type mtp_num_layers cuda_graph_modules attention_dropout hidden_dropout moe_input_jitter_eps moe_pad_expert_input_to_capacity check_for_nan_in_loss_and_grad use_te_rng_tracker delay_wgrad_compute gradient_accumulation_fusion nccl_ub fsdp_manual_registration use_megatron_fsdp use_torch_fsdp2 context_parallel_size tensor_model_parallel_size ckpt_format use_distributed_optimizer average_in_collective reuse_grad_buf_for_mxfp8_param_ag use_precision_aware_optimizer main_grads_dtype main_params_dtype exp_avg_dtype exp_avg_sq_dtype optimizer_cpu_offload optimizer_offload_fraction fp8_param_gather decoupled_weight_decay overlap_param_gather overlap_grad_reduce pipeline_dtype virtual_pipeline_model_parallel_size num_layers_per_virtual_pipeline_stage num_virtual_stages_per_pipeline_rank pipeline_model_parallel_layout account_for_embedding_in_pipeline_split num_layers_in_first_pipeline_stage num_attention_heads num_query_groups seq_length calculate_per_token_loss cp_comm_type hierarchical_context_parallel_sizes packed_sequence_size micro_batch_size moe_expert_capacity_factor moe_flex_dispatcher_backend use_pytorch_profiler use_nsys_profiler profile_step_start profile_step_end log_memory_interval log_interval sequence_parallel_input_regather enable_mhc'.split(
        ' ',
      );
    const known = configKeys();
    expect(needed.filter((key) => !known.has(key))).toEqual([]);
  });
});

describe('values', () => {
  it.each([
    ['True', 'True'],
    ['true', 'True'],
    ['None', null],
    ['null', null],
    ['~', null],
    ['1.0e-05', '1.0e-05'],
    ["'yes: no'", 'yes: no'],
    ['torch.bfloat16', 'bfloat16'],
    ['<AttnBackend.auto: 5>', 'auto'],
    ["['core_attn', 'mlp']", '["core_attn","mlp"]'],
    ['(0.9, 0.95)', '[0.9,0.95]'],
    ["{'a': None, 'b': True}", '{"a":null,"b":true}'],
    ['[unclosed', '[unclosed'],
    ['a (b) c', 'a (b) c'],
  ])('%s → %s', (text, value) => {
    expect(normaliseConfigValue(text)).toBe(value);
  });

  it('negated flags set what they negate', () => {
    expect(flagFinding('--no-gradient-accumulation-fusion', null, 'command line')).toMatchObject({
      key: 'gradient_accumulation_fusion',
      value: 'False',
      rawKey: '--no-gradient-accumulation-fusion',
    });
    expect(configFinding('untie_embeddings_and_output_weights', 'False', 'log dump')).toMatchObject({
      key: 'share_embeddings_and_output_weights',
      value: 'True',
    });
    expect(flagFinding('--no-such-flag', null, 'command line')).toMatchObject({ key: 'no_such_flag', value: 'True' });
  });

  it('a null that overrides nothing does not hide what it would override', () => {
    expect(configFinding('comm_overlap.overlap_grad_reduce', null, 'run file').key).toBe(
      'comm_overlap.overlap_grad_reduce',
    );
    expect(configFinding('comm_overlap.overlap_grad_reduce', 'True', 'run file').key).toBe('overlap_grad_reduce');
  });

  it('one value of a list is a list', () => {
    expect(configFinding('--recompute-modules', 'core_attn,mlp', 'command line').value).toBe('["core_attn","mlp"]');
    expect(configFinding('profile_ranks', '3', 'config file').value).toBe('[3]');
  });

  it('secrets are not kept', () => {
    expect(configFinding('logger.wandb_api_key', 'abcdef', 'run file').value).toBe('<secret: 6 characters>');
    for (const name of ['WANDB_API_KEY', 'HF_TOKEN', 'NCCL_SECRET', 'NEMO_AUTH', 'DS_PRIVATE_KEY', 'AWS_SESSION']) {
      expect(keepsEnv(name), name).toBe(false);
    }
    expect(keepsEnv('TOKENIZERS_PARALLELISM')).toBe(true);
    expect(envFinding('NCCL_DEBUG', 'x'.repeat(5000), 'script')?.value?.length).toBe(MOST_ENV_CHARS + 1);
  });
});

describe('shell text', () => {
  it('follows assignments, arrays and continuations to the line a setting is written on', () => {
    const text = [
      '#!/bin/bash',
      '#SBATCH --nodes=6 --ntasks-per-node=4',
      '#SBATCH --gres=gpu:h100:4 # each',
      'TP=2',
      'ARGS=(',
      '  --num-layers 30 # layers',
      '  --no-rope-fusion',
      ')',
      'MORE="--seq-length ${SEQ:-2048} \\',
      '  --micro-batch-size=3"',
      'export NCCL_DEBUG=WARN WANDB_API_KEY=nono',
      'NVTE_FUSED_ATTN=1 srun -N 5 torchrun --nproc-per-node 4 pretrain_gpt.py \\',
      '  "${ARGS[@]}" $MORE --tensor-model-parallel-size "$TP" --exit-interval $STOP',
    ].join('\n');
    expect(shell(text)).toEqual([
      'nnodes=6@2',
      'ntasks_per_node=4@2',
      'gpus_per_node=4@3',
      'num_layers=30@6',
      'apply_rope_fusion=False@7',
      'seq_length=2048@9',
      'micro_batch_size=3@10',
      '$NCCL_DEBUG=WARN@11',
      '$NVTE_FUSED_ATTN=1@12',
      'nnodes=5@12',
      'nproc_per_node=4@12',
      'tensor_model_parallel_size=2@13',
      'exit_interval=$STOP@13',
    ]);
  });

  it('computes with whole numbers', () => {
    const text =
      'GPUS=8\nN=$(( GPUS * 4 ))\npython t.py --global-batch-size $((N*(2+1)/2)) --lr $((X*2)) --seq-length "$((1/0))"\n';
    expect(shell(text)).toEqual(['global_batch_size=48@3', 'lr=$((X*2))@3', 'seq_length=$((1/0))@3']);
  });

  it('keeps both branches, and resolves no variable that they set differently', () => {
    const text = [
      'if [ "$GPU" = h100 ]; then',
      '  export NCCL_NVLS_ENABLE=1; CP=2',
      'else',
      '  export NCCL_NVLS_ENABLE=0; CP=4',
      'fi',
      'python train.py --context-parallel-size $CP',
    ].join('\n');
    expect(shell(text)).toEqual(['$NCCL_NVLS_ENABLE=1@2', '$NCCL_NVLS_ENABLE=0@4', 'context_parallel_size=$CP@6']);
  });

  it('reads overrides, nested shells, containers and mpirun', () => {
    expect(shell("bash -c 'python t.py ++model.recompute_modules=[mlp] ~model.fp8 train.train_iters=7'")).toEqual([
      'recompute_modules=["mlp"]@1',
      'fp8=null@1',
      'train_iters=7@1',
    ]);
    expect(shell('docker run -e NCCL_DEBUG=INFO --env=HF_TOKEN=x image python t.py --bf16')).toEqual([
      '$NCCL_DEBUG=INFO@1',
      'bf16=True@1',
    ]);
    expect(shell('mpirun -np 16 -x NCCL_DEBUG=WARN python t.py --bf16')).toEqual([
      'ntasks=16@1',
      '$NCCL_DEBUG=WARN@1',
      'bf16=True@1',
    ]);
  });

  it('leaves comments, here-documents and other programs alone', () => {
    const text = [
      '# export NCCL_DEBUG=INFO',
      'cat <<EOF > other.sh',
      'export NCCL_DEBUG=INFO',
      'python t.py --num-layers 3',
      'EOF',
      'ls --color=auto --num-layers 4',
      'export NCCL_DEBUG=WARN',
    ].join('\n');
    expect(shell(text)).toEqual(['$NCCL_DEBUG=WARN@7']);
  });

  it('reads arguments that another script expands', () => {
    expect(shell('MODEL_ARGS=(\n  --num-layers 3\n  --swiglu\n)\n')).toEqual([
      'num_layers=3@2',
      'gated_linear_unit=True@3',
    ]);
  });

  it('survives any text', () => {
    const piece = fc.constantFrom(...'${}()"\'\\\n A=#`;', '--lr', 'x.py', '<<', 'if', 'fi', '${A[@]}');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        readShellSettings(pieces.join(''));
      }),
      { numRuns: 500, seed: SEED },
    );
  });

  it.each([
    ['doubling', `A=aaaaaaaa\n${'A="$A$A"\n'.repeat(20_000)}`],
    ['open substitutions', '$('.repeat(200_000)],
    ['open braces', '${'.repeat(200_000)],
    ['appended arrays', `${'A+=( --num-layers 1 )\n'.repeat(20_000)}python x.py \${A[@]}\n`],
    ['quotes', '"'.repeat(200_001)],
  ])('comes to the end of many %s', (_name, text) => {
    readShellSettings(text);
  });
});
