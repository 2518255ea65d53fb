import { it } from 'vitest';
import { readFileSync } from 'node:fs';
import { changeInputs, completeInputs } from '../../src/estimate/inputs.js';
import { estimateStages } from '../../src/estimate/stages/estimate-stages.js';
import { demandInputs } from '../../src/estimate/read-inputs.js';
const d = JSON.parse(readFileSync('/work/shared/corpus/estimator_vectors.json','utf8'));
const vec = (n: string) => d.vectors.find((v: any) => v.name === n).inputs;
const g = (o: object) => demandInputs(Object.entries(o), 'MBF2202').given;
function show(name: string, given: any, stage: number | null = null) {
  const r = estimateStages(completeInputs(given));
  const s = r.stages[stage ?? r.hottest]!;
  console.log(name, 'stage', s.stage, s.moment, 'inflight', s.inFlight, 'alloc', (s.allocated.bytes/1e9).toFixed(2), [s.allocated.low/1e9, s.allocated.high/1e9].map(x=>x.toFixed(1)).join('-'), 'resident', (s.resident.bytes/1e9).toFixed(3), 'first', (s.firstStepAllocatedBytes/1e9).toFixed(2), 'total', (s.total.bytes/1e9).toFixed(2), 'params', s.parameters, '\n', s.parts.map(p=>`${p.component}/${p.name} ${(p.bytes/1e9).toFixed(2)}`).join(', '));
}
it('x', () => {
  const tp4 = { ...vec('golden_gpt3_7b_tp4_pp1_h100'), hidden_dropout: 0.1, attention_dropout: 0.1, position_embedding_type: 'learned_absolute', max_position_embeddings: 8192 };
  show('tp4 (20.66 res, 57.14 peak, 50.29 first)', g(tp4));
  const pp4 = { ...vec('golden_gpt3_7b_tp1_pp4_8gpu'), hidden_dropout: 0.1, attention_dropout: 0.1, position_embedding_type: 'learned_absolute', max_position_embeddings: 8192 };
  show('pp4 (24.54 res, 60.52 peak, 52.73 first)', g(pp4), 3);
  show('pp4 hottest', g(pp4));
  const moe = { num_layers: 16, hidden_size: 1024, ffn_hidden_size: 4096, num_attention_heads: 32, kv_channels: 128, seq_length: 4096, vocab_size: 50257, make_vocab_size_divisible_by: 3232, normalization: 'RMSNorm', swiglu: true, add_bias_linear: false, untie_embeddings_and_output_weights: true, mla: true, q_lora_rank: 1536, kv_lora_rank: 512, mtp_num_layers: 1, num_moe_experts: 32, moe_layer_freq: '([0]*1+[1]*15)', moe_ffn_hidden_size: 1024, moe_shared_expert_intermediate_size: 1024, moe_router_topk: 4, tp: 2, pp: 2, vpp: 4, ep: 4, etp: 1, world: 8, mbs: 4, global_batch_size: 32, dist_opt: true, sequence_parallel: true, attention_backend: 'unfused', qk_layernorm: true, cross_entropy_loss_fusion: true };
  show('moe (6.632 res, 57.8-60.1 peak, 55.05 first)', g(moe), 1);
  show('moe hottest', g(moe), 0);
  const base = vec('llama3_70b_sft_seed_tp4_pp4_vpp5_dp2');
  const fp8 = { mixed_precision: 'bf16_with_fp8_current_scaling_mixed' };
  for (const [n, v, m] of [['base','llama3_70b_sft_seed_tp4_pp4_vpp5_dp2',58.8],['vpp10','llama3_70b_sft_seed_tp4_pp4_vpp10_dp2',60.2],['pp8','llama3_70b_sft_seed_tp4_pp8_vpp5_dp1',53.2],['tp8','llama3_70b_sft_seed_tp8_pp4_vpp5_dp1',50.2]] as const) show(`70b ${n} ${m}`, g({...vec(v), ...fp8}));
  show('70b mlp 55.6', g({...base, ...fp8, recompute_modules:['mlp']}));
  show('70b layernorm 59.6', g({...base, ...fp8, recompute_modules:['core_attn','layernorm']}));
  show('70b bf16', g(base));
  const qwen = { ...vec('qwen3_30b_a3b_tp2_pp2_ep4_dp4') };
  show('qwen', g(qwen));
});
