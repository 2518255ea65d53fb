-- @name   library.contract_key
-- @kind   view
-- @title  What two runs must have in common for their figures to mean the same
-- @col    place       BIGINT   order of the report
-- @col    group_name  VARCHAR  model, workload, precision, device or layout
-- @col    key         VARCHAR  a setting; of device and layout a fact of the run
-- @why    Where one of them differs, figures differ without any fault of the code: a comparison is refused unless the change is allowed.
SELECT 100 * place + nth AS place, group_name, key
FROM (
  SELECT place, group_name, unnest(keys) AS key, generate_subscripts(keys, 1) AS nth
  FROM (VALUES
    (1, 'model', ['num_layers', 'hidden_size', 'ffn_hidden_size', 'num_attention_heads', 'num_query_groups', 'kv_channels', 'vocab_size',
      'padded_vocab_size', 'num_moe_experts', 'moe_router_topk', 'moe_ffn_hidden_size', 'mtp_num_layers',
      'share_embeddings_and_output_weights']),
    (2, 'workload', ['seq_length', 'global_batch_size', 'micro_batch_size']),
    (3, 'precision', ['bf16', 'fp16', 'fp8', 'fp8_recipe', 'fp8_param', 'fp8_param_gather', 'mixed_precision', 'params_dtype']),
    (4, 'device', ['world_size', 'gpu', 'gpu_total_bytes']),
    (5, 'layout', ['tp', 'pp', 'vpp', 'cp', 'ep', 'etp', 'dp'])) AS known(place, group_name, keys)) AS listed
