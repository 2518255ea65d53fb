// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
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

/** Cases as data, see `config-cases.yaml`. */
const cases = parse(readFileSync(new URL('config-cases.yaml', import.meta.url), 'utf8')) as {
  readonly keys: Readonly<Record<string, readonly string[]>>;
  readonly values: readonly (readonly [text: string, value: string | null])[];
  readonly shell: readonly { readonly is: string; readonly text: string; readonly settings: readonly string[] }[];
};

const shell = (text: string): string[] =>
  readShellSettings(text).map(({ finding, at }) => {
    const line = text.slice(0, at).split('\n').length;
    return `${finding.row === 'env' ? '$' : ''}${finding.key}=${finding.value}@${line}`;
  });

describe('canonical keys', () => {
  const spelled = Object.entries(cases.keys).flatMap(([key, spellings]) => spellings.map((raw) => [raw, key] as const));
  it.each(spelled)('%s → %s', (raw, key) => {
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
  it.each(cases.values)('%s → %s', (text, value) => {
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
  it.each(cases.shell.map((sample) => [sample.is, sample] as const))('%s', (_, { text, settings }) => {
    expect(shell(text)).toEqual(settings);
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
