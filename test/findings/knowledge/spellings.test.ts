/** A change as lines to paste, in each framework's own words. */
import { describe, expect, it } from 'vitest';
import { canonicalConfigKey } from '../../../src/knowledge/config-keys.js';
import { pasteLines } from '../../../src/knowledge/spellings.js';
import type { PasteLines } from '../../../src/model/results/advise.js';

const settings = (changes: Readonly<Record<string, string | null>>): PasteLines =>
  pasteLines({ settings: changes, env: {} });

describe('pasteLines', () => {
  it('exports variables, and unsets them', () => {
    expect(
      pasteLines({
        settings: {},
        env: {
          PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True',
          CUDA_DEVICE_MAX_CONNECTIONS: null,
          NCCL_X: "a b'c",
        },
      }),
    ).toEqual({
      sbatch: [
        'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',
        'unset CUDA_DEVICE_MAX_CONNECTIONS',
        `export NCCL_X='a b'\\''c'`,
      ],
      megatron_bridge: [],
      megatron_lm: [],
      nemo: [],
      python: [],
    });
  });

  it('assigns to the section whose class has the field', () => {
    const lines = settings({
      tensor_model_parallel_size: '8',
      overlap_grad_reduce: 'True',
      optimizer_offload_fraction: '0.5',
      micro_batch_size: '1',
      tp_comm_overlap: 'False',
      recompute_modules: '["mlp","moe_act"]',
      recompute_method: null,
    });
    expect(lines.megatron_bridge).toEqual([
      'cfg.model.tensor_model_parallel_size = 8',
      'cfg.ddp.overlap_grad_reduce = True',
      'cfg.optimizer.optimizer_offload_fraction = 0.5',
      'cfg.train.micro_batch_size = 1',
      'cfg.comm_overlap.tp_comm_overlap = False',
      'cfg.model.recompute_modules = ["mlp", "moe_act"]',
      'cfg.model.recompute_method = None',
    ]);
    expect(lines.nemo).toEqual([
      'recipe.trainer.strategy.tensor_model_parallel_size = 8',
      'recipe.trainer.strategy.ddp.overlap_grad_reduce = True',
      'recipe.optim.config.optimizer_offload_fraction = 0.5',
      'recipe.data.micro_batch_size = 1',
      'recipe.model.config.recompute_method = None',
    ]);
  });

  it('writes flags: words for lists, nothing for True, negations where there are some', () => {
    expect(
      settings({
        recompute_modules: '["mlp","moe_act"]',
        use_distributed_optimizer: 'True',
        cpu_offloading: 'False',
        recompute_granularity: null,
        apply_rope_fusion: 'False',
        gradient_accumulation_fusion: 'True',
        cross_entropy_loss_fusion: 'True',
        exp_avg_dtype: 'bfloat16',
        nccl_ub: 'False',
        bucket_size: '40000000',
        virtual_pipeline_model_parallel_size: '2',
      }).megatron_lm,
    ).toEqual([
      '--recompute-modules mlp moe_act',
      '--use-distributed-optimizer',
      '# drop --cpu-offloading-num-layers',
      '# drop --recompute-granularity',
      '--no-rope-fusion',
      '# drop --no-gradient-accumulation-fusion',
      '--cross-entropy-loss-fusion',
      '--exp-avg-dtype bf16',
      '# drop --use-nccl-ub',
      '--ddp-bucket-size 40000000',
      '--num-virtual-stages-per-pipeline-rank 2',
    ]);
  });

  it('sets what two sections must agree on in both', () => {
    expect(settings({ use_distributed_optimizer: 'True', grad_reduce_in_fp32: 'False' })).toMatchObject({
      megatron_bridge: [
        'cfg.optimizer.use_distributed_optimizer = True',
        'cfg.ddp.use_distributed_optimizer = True',
        'cfg.ddp.grad_reduce_in_fp32 = False',
        'cfg.mixed_precision.grad_reduce_in_fp32 = False',
      ],
      megatron_lm: ['--use-distributed-optimizer', '--grad-reduce-in-bf16'],
    });
  });

  it('writes data types and enumerations as Python has them', () => {
    const lines = settings({
      exp_avg_dtype: 'bfloat16',
      attention_backend: 'fused',
      cuda_graph_impl: 'none',
      fp8: 'hybrid',
    });
    expect(lines.megatron_bridge).toEqual([
      'cfg.optimizer.exp_avg_dtype = torch.bfloat16',
      'cfg.model.attention_backend = AttnBackend.fused',
      'cfg.model.cuda_graph_impl = "none"',
      'cfg.mixed_precision.fp8 = "hybrid"',
    ]);
    expect(lines.megatron_lm).toContain('--fp8-format hybrid');
  });

  it('knows what only some frameworks have', () => {
    expect(settings({ sequence_parallel_input_regather: 'True', use_megatron_fsdp: 'True' })).toEqual({
      sbatch: [],
      megatron_bridge: [
        'cfg.peft.sequence_parallel_input_regather = True',
        'cfg.ddp.use_megatron_fsdp = True',
        'cfg.dist.use_megatron_fsdp = True',
      ],
      megatron_lm: ['--use-megatron-fsdp'],
      nemo: ['recipe.trainer.strategy.fsdp = "megatron"'],
      python: [],
    });
  });

  it('leaves the size of the job to the launcher', () => {
    expect(Object.values(settings({ data_parallel_size: '4' })).flat()).toEqual([]);
    const { sbatch, ...others } = settings({ world_size: '64' });
    expect(sbatch).toEqual(['# 64 GPUs: nodes × GPUs per node']);
    expect(Object.values(others).flat()).toEqual([]);
  });

  it('writes what the reader of configurations reads back as the same setting', () => {
    const keys = [
      'tensor_model_parallel_size',
      'bucket_size',
      'nccl_ub',
      'fp8',
      'use_te_rng_tracker',
      'average_in_collective',
      'seq_length',
    ];
    for (const key of keys) {
      const lines = settings({ [key]: '2' });
      for (const line of [...lines.megatron_bridge, ...lines.nemo])
        expect(canonicalConfigKey(line.split(' = ')[0] ?? ''), line).toBe(key);
      for (const line of lines.megatron_lm) expect(canonicalConfigKey(line.split(' ')[0] ?? ''), line).toBe(key);
    }
  });
});
