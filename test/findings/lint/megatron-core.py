"""What Megatron-Core itself says of generated settings: the recorded cases of megatron-core.test.ts.

Usage: megatron-core.py OUT COUNT VERSION=SOURCES...

SOURCES is a folder with the package `megatron` of that version (an installed megatron-core, or an archive of a tag);
a CPU build of torch is enough. Of each case and version it is recorded whether the dataclass could be constructed,
and if not, its message. Nothing of Megatron-Core is kept but those messages.
"""
import json
import os
import random
import subprocess
import sys

# Transformer Engine is not installed: its version, and kernels that only exist with it, are pretended.
ENGINE = "2.14.0"

MODULES = ["attn", "mlp", "moe", "moe_router", "moe_preprocess"]
RECOMPUTED = ["core_attn", "layernorm", "mlp", "moe", "moe_act", "shared_experts", "mla_up_proj", "mhc", "gdn_norm_out",
              "gdp_in_proj", "nothing"]
OFFLOADED = ["attn_norm", "qkv_linear", "core_attn", "attn_proj", "mlp_norm", "expert_fc1", "moe_act",
             "fused_group_mlp", "nothing"]
LAYOUTS = ["Et*4|t*4L", "Et*3|t*3|t*2|L", "Et|tt|tt|tt|t|L|", "Ett|(tt|)*2ttL", "Et*4|t*3L", "t*4|Et*4L",
           "Et*3|t*3|t*2m|L", "Et*4|t*4mL"]

# Base settings of a kind of model, and values that are tried beside them.
BASE = {"num_layers": 8, "hidden_size": 64, "num_attention_heads": 8, "add_bias_linear": False, "bf16": True,
    "pipeline_dtype": "bfloat16", "params_dtype": "bfloat16"}
GENERAL = {"num_layers": [8, 12, 6], "num_attention_heads": [8, 6], "num_query_groups": [None, 8, 4, 2, 1, 3],
    "tensor_model_parallel_size": [1, 2, 4, 3], "sequence_parallel": [True, False], "context_parallel_size": [1, 2],
    "pipeline_model_parallel_size": [1, 2, 4], "pipeline_dtype": [None, "bfloat16"], "bf16": [True, False],
    "fp16": [False, True], "add_bias_linear": [True, False], "gated_linear_unit": [True, False],
    "bias_activation_fusion": [True, False], "activation_func": ["gelu", "silu"],
    "normalization": ["LayerNorm", "RMSNorm"], "cp_comm_type": [None, "p2p", ["p2p"] * 8, ["p2p", "a2a"]],
    "no_rope_freq": [None, 4, 3], "flash_decode": [False, True], "rotary_interleaved": [False, True],
    "apply_rope_fusion": [False, True], "attention_dropout": [0.0, 0.1], "hidden_dropout": [0.0, 0.1],
    "fused_residual_rmsnorm": [False, True], "use_te_activation_func": [False, True],
    "variable_seq_lengths": [False, True], "fp32_residual_connection": [False, True], "mtp_num_layers": [None, 1, 2],
    "transformer_impl": ["transformer_engine"]}
GROUPS = {
    "pipeline": ({"pipeline_model_parallel_size": 2}, {
        "virtual_pipeline_model_parallel_size": [None, 2, 4, 3], "num_layers_in_first_pipeline_stage": [None, 2, 4, 0],
        "num_layers_in_last_pipeline_stage": [None, 2, 4], "account_for_embedding_in_pipeline_split": [False, True],
        "account_for_loss_in_pipeline_split": [False, True], "pipeline_model_parallel_layout": [None, *LAYOUTS],
        "defer_embedding_wgrad_compute": [False, True], "gradient_accumulation_fusion": [False, True],
        "wgrad_deferral_limit": [0, -1], "overlap_p2p_comm": [False, True], "batch_p2p_comm": [True, False],
        "overlap_p2p_comm_warmup_flush": [False, True], "pipeline_model_parallel_size": [1, 2, 4]}),
    "experts": ({"num_moe_experts": 8, "moe_grouped_gemm": True, "moe_token_dispatcher_type": "alltoall",
        "moe_ffn_hidden_size": 32}, {
        "num_moe_experts": [None, 8, -1], "expert_model_parallel_size": [1, 2, 4],
        "expert_tensor_parallel_size": [None, 1, 2], "tensor_model_parallel_size": [1, 2],
        "moe_ffn_hidden_size": [None, 32], "moe_router_topk": [1, 2], "moe_router_pre_softmax": [False, True],
        "moe_router_score_function": ["softmax", "sigmoid"], "moe_router_enable_expert_bias": [False, True],
        "moe_grouped_gemm": [True, False], "moe_token_dispatcher_type": ["allgather", "alltoall", "flex"],
        "moe_enable_deepep": [False, True], "moe_flex_dispatcher_backend": ["deepep", "hybridep"],
        "moe_pad_expert_input_to_capacity": [False, True], "moe_expert_capacity_factor": [None, 1.0, -1.0],
        "moe_expert_rank_capacity_factor": [None, 1.5],
        "moe_router_load_balancing_type": ["aux_loss", "none", "sinkhorn", "quantile"],
        "moe_shared_expert_intermediate_size": [None, 32, 0], "moe_shared_expert_overlap": [False, True],
        "moe_router_padding_for_fp8": [False, True], "moe_router_padding_for_quantization": [False, True],
        "moe_router_group_topk": [None, 2, 4], "moe_router_num_groups": [None, 4, 3, 2], "moe_layer_freq": [1, 2],
        "moe_permute_fusion": [False, True], "moe_paged_stash": [False, True],
        "use_transformer_engine_op_fuser": [False, True], "moe_use_grouped_tensor": [False, True],
        "moe_single_grouped_weight": [False, True], "moe_latent_size": [None, 16]}),
    "overlap": ({"num_moe_experts": 8, "expert_model_parallel_size": 2, "moe_token_dispatcher_type": "alltoall",
        "overlap_moe_expert_parallel_comm": True}, {
        "expert_model_parallel_size": [1, 2], "moe_token_dispatcher_type": ["allgather", "alltoall", "flex"],
        "delay_wgrad_compute": [False, True], "recompute_granularity": [None, "full", "selective"],
        "recompute_method": [None, "block"], "recompute_num_layers": [None, 1], "mtp_num_layers": [None, 1, 2],
        "moe_shared_expert_overlap": [False, True], "moe_shared_expert_intermediate_size": [None, 32],
        "recompute_modules": [["moe"], ["moe_act"], None], "moe_grouped_gemm": [True], "bf16": [True, False],
        "overlap_moe_expert_parallel_comm": [True, False], "pipeline_model_parallel_size": [1, 2],
        "virtual_pipeline_model_parallel_size": [None, 2], "cuda_graph_impl": ["none", "transformer_engine"],
        "cuda_graph_modules": [["attn"], ["moe"], ["mlp"]]}),
    "recompute": ({"recompute_granularity": "selective"}, {
        "recompute_granularity": [None, "full", "selective", "uniform"],
        "recompute_method": [None, "block", "uniform", "all"], "recompute_num_layers": [None, 1],
        "recompute_modules": [None, [], *[[one] for one in RECOMPUTED], ["core_attn", "mlp"], ["mhc", "mlp"],
            ["moe", "moe_act"]],
        "distribute_saved_activations": [False, True], "sequence_parallel": [False, True],
        "tensor_model_parallel_size": [2], "moe_layer_recompute": [False, True],
        "multi_latent_attention": [False, True], "num_moe_experts": [None, 8], "moe_grouped_gemm": [False, True],
        "moe_shared_expert_overlap": [False, True], "moe_shared_expert_intermediate_size": [None, 32],
        "moe_token_dispatcher_type": ["alltoall"], "fp8": [None, "hybrid"], "fp8_recipe": ["delayed", "tensorwise"],
        "enable_mhc_connections": [False, True], "mhc_recompute_layer_num": [None, 1, 0],
        "experimental_attention_variant": [None, "gated_delta_net", "gdn"]}),
    "offload": ({}, {
        "cpu_offloading": [True, False], "cpu_offloading_num_layers": [1, 7, 8, -1],
        "pipeline_model_parallel_size": [1, 2], "recompute_granularity": [None, "selective"],
        "fine_grained_activation_offloading": [False, True],
        "offload_modules": [[], *[[one] for one in OFFLOADED], ["core_attn", "attn_proj"],
            ["fused_group_mlp", "moe_act"]],
        "cuda_graph_impl": ["none", "local", "transformer_engine", "full_iteration"],
        "cuda_graph_modules": [[], ["attn"]], "min_offloaded_tensor_size": [1024, -1],
        "activation_offload_fraction": [0.5, 1.5], "delta_offload_bytes_across_pp_ranks": [0, -1],
        "recompute_modules": [["moe"], ["core_attn"], ["mhc"]], "use_transformer_engine_op_fuser": [False, True],
        "moe_paged_stash": [False, True], "enable_mhc_connections": [False, True], "cuda_graph_warmup_steps": [3, 0],
        "fine_grained_offloading_max_inflight_offloads": [None, 1]}),
    "graphs": ({"cuda_graph_impl": "transformer_engine"}, {
        "cuda_graph_impl": ["none", "local", "transformer_engine", "full_iteration", "eager"],
        "cuda_graph_modules": [[], *[[one] for one in MODULES], ["moe", "moe_router"], ["moe_router", "moe_preprocess"],
            ["attn", "moe_router"]],
        "enable_cuda_graph": [False, True], "external_cuda_graph": [False, True], "num_moe_experts": [None, 8],
        "recompute_granularity": [None, "full", "selective"], "recompute_method": [None, "block"],
        "recompute_num_layers": [None, 1], "recompute_modules": [None, ["moe"], ["mlp"], ["core_attn"]],
        "attention_dropout": [0.0, 0.1], "hidden_dropout": [0.0, 0.1], "moe_input_jitter_eps": [None, 0.1],
        "moe_expert_capacity_factor": [None, 1.0], "moe_pad_expert_input_to_capacity": [False, True],
        "moe_token_dispatcher_type": ["alltoall", "allgather"], "cpu_offloading": [False, True],
        "cpu_offloading_num_layers": [1], "moe_layer_freq": [1, 2]}),
    "fp8": ({"fp8": "hybrid", "fp8_recipe": "tensorwise"}, {
        "fp8": [None, "hybrid"], "fp8_recipe": ["delayed", "tensorwise", "mxfp8", "custom"], "fp8_param": [False, True],
        "fp4": [None, "e2m1"], "fp4_param": [False, True], "first_last_layers_bf16": [False, True],
        "num_layers_at_start_in_bf16": [1, 0, 9], "num_layers_at_end_in_bf16": [1, -1],
        "fp8_quantizer_factory": [None, "a.b"], "fp8_output_proj": [False, True],
        "pipeline_model_parallel_size": [1, 2]}),
    "hyper": ({"enable_mhc_connections": True}, {
        "pipeline_model_parallel_size": [1, 2], "mtp_num_layers": [None, 1], "fp32_residual_connection": [False, True],
        "mhc_sinkhorn_iterations": [20, 0], "mhc_init_gating_factor": [0.01, -1.0],
        "enable_mhc_connections": [True, False], "recompute_granularity": [None, "full", "selective"],
        "recompute_method": [None, "block"], "recompute_num_layers": [None, 1],
        "recompute_modules": [["mhc"], ["mhc", "mlp"]]}),
    "linear": ({"experimental_attention_variant": "gated_delta_net", "linear_attention_freq": 4,
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_num_key_heads": 4,
        "linear_num_value_heads": 8}, {
        "experimental_attention_variant": [None, "gated_delta_net", "dsa"], "linear_num_key_heads": [4, 3],
        "linear_num_value_heads": [8, 6], "tensor_model_parallel_size": [1, 2, 8], "context_parallel_size": [1, 2],
        "cp_comm_type": [None, "p2p", "allgather"], "apply_rope_fusion": [False, True],
        "add_bias_linear": [False, True]}),
}
LATENT = {"rope_type": ["yarn", "rope"], "apply_rope_fusion": [False, True], "cache_mla_latents": [False, True],
    "attention_output_gate": [False, True], "rotary_interleaved": [False, True], "recompute_modules": [["mla_up_proj"]],
    "recompute_granularity": [None, "selective"]}
REDUCTION = {"nccl_ub": [False, True], "num_buckets": [None, 4, 0], "bucket_size": [None, 1000],
    "fp8_param_gather": [False, True], "reuse_grad_buf_for_mxfp8_param_ag": [False, True],
    "grad_reduce_in_fp32": [False, True], "overlap_grad_reduce": [False, True], "megatron_fsdp_version": [1, 2, 3],
    "use_megatron_fsdp": [False, True], "PYTORCH_CUDA_ALLOC_CONF": [None, "expandable_segments:True"]}
OPTIMIZER = {"optimizer": ["adam", "sgd"], "use_precision_aware_optimizer": [False, True],
    "main_grads_dtype": ["float32", "bfloat16"], "main_params_dtype": ["float32", "float16"],
    "exp_avg_dtype": ["float32", "bfloat16"], "exp_avg_sq_dtype": ["float32", "bfloat16"],
    "optimizer_cpu_offload": [False, True], "fp8_recipe": [None, "mxfp8"], "use_distributed_optimizer": [True, False],
    "reuse_grad_buf_for_mxfp8_param_ag": [False, True], "overlap_param_gather_with_optimizer_step": [False, True]}


def drawn(rng, values, count):
    return {key: rng.choice(values[key]) for key in rng.sample(sorted(values), min(count, len(values)))}


def generate(count, seed=28):
    rng = random.Random(seed)
    names = sorted(GROUPS)
    seen, cases = set(), []
    while len(cases) < count:
        kind = rng.choices(["T", "L", "D", "O"], [88, 5, 3, 4])[0]
        if kind in "TL":
            settings = dict(BASE)
            for name in rng.sample(names, rng.choice([0, 1, 1, 1, 2])):
                base, values = GROUPS[name]
                settings |= base | drawn(rng, values, rng.choice([0, 1, 1, 2, 2, 3]))
            settings |= drawn(rng, GENERAL, rng.choice([0, 0, 1, 1, 2]))
            if kind == "L":
                settings |= drawn(rng, LATENT, rng.choice([1, 2, 3])) | {"multi_latent_attention": True}
            # What Megatron-Core asks first; without these most cases would only say it again.
            if settings.get("sequence_parallel") and settings.get("tensor_model_parallel_size",
                1) == 1 and rng.random() < 0.9:
                settings["tensor_model_parallel_size"] = 2
        else:
            settings = drawn(rng, REDUCTION if kind == "D" else OPTIMIZER, rng.choice([1, 2, 3, 4]))
        text = json.dumps([kind, settings], sort_keys=True)
        if text not in seen:
            seen.add(text)
            cases.append((kind, settings))
    return cases


def construct(cases):
    """In a process with one version on the path: for each case null, "?" (no such setting), or the message."""
    import dataclasses
    import types
    import warnings

    warnings.simplefilter("ignore")
    import torch
    import torch.nn.functional as functional
    from packaging.version import Version
    from megatron.core.distributed import distributed_data_parallel_config as reduction
    from megatron.core.models.common.embeddings import rope_utils
    from megatron.core.optimizer import optimizer_config as optimizer
    from megatron.core.transformer import transformer_config as transformer
    from megatron.core.transformer.moe import moe_utils

    for module in (transformer, optimizer):
        module.is_te_min_version = lambda wanted, check_equality=True: Version(ENGINE) >= Version(wanted)
    for module, kernels in ((rope_utils, ["fused_apply_rotary_pos_emb", "fused_apply_rotary_pos_emb_thd"]),
                            (moe_utils, ["fused_permute", "fused_permute_with_probs", "fused_sort_chunks_by_index",
                                         "fused_sort_chunks_by_index_with_probs", "fused_unpermute"])):
        for kernel in kernels:
            setattr(module, kernel, object())
    adam = types.ModuleType("transformer_engine.pytorch.optimizers")

    class FusedAdam:
        def __init__(self, master_weight_dtype=0, exp_avg_dtype=0, exp_avg_sq_dtype=0, use_decoupled_grad=0):
            pass

    adam.FusedAdam = FusedAdam
    for name in ("transformer_engine", "transformer_engine.pytorch"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules[adam.__name__] = adam

    classes = {"T": transformer.TransformerConfig, "L": transformer.MLATransformerConfig,
               "D": reduction.DistributedDataParallelConfig, "O": optimizer.OptimizerConfig}

    def value(key, one):
        if key == "activation_func":
            return getattr(functional, one)
        if key.endswith("_dtype") and isinstance(one, str):
            return getattr(torch, one)
        return list(one) if isinstance(one, list) else one

    def plain(one):
        if isinstance(one, torch.dtype):
            return str(one).removeprefix("torch.")
        if callable(one):
            return getattr(one, "__name__", None)
        return one if one is None or isinstance(one, (bool, int, float, str, list)) else str(one)

    wanted = {key for _, settings in generate_all() for key in settings}
    defaults = {}
    for one in classes.values():
        for field in dataclasses.fields(one):
            if field.name in wanted and field.name not in defaults:
                standard = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
                defaults[field.name] = None if standard is dataclasses.MISSING else plain(standard)
    outcomes = []
    for kind, settings in cases:
        os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
        fields = dict(settings)
        variable = fields.pop("PYTORCH_CUDA_ALLOC_CONF", None)
        if variable is not None:
            os.environ["PYTORCH_CUDA_ALLOC_CONF"] = variable
        known = {field.name for field in dataclasses.fields(classes[kind])}
        if any(key not in known for key in fields):
            outcomes.append("?")
            continue
        try:
            classes[kind](**{key: value(key, one) for key, one in fields.items()})
            outcomes.append(None)
        except Exception as error:  # whatever it is, training does not start
            outcomes.append(" ".join(f"{type(error).__name__}: {error}".split())[:90])
    print(json.dumps({"defaults": defaults, "outcomes": outcomes, "torch": torch.__version__}))


def generate_all():
    return [("", BASE), ("", GENERAL), ("", LATENT), ("", REDUCTION), ("", OPTIMIZER),
            *[("", part) for group in GROUPS.values() for part in group]]


def main():
    if sys.argv[1] == "--construct":
        construct([tuple(case) for case in json.load(sys.stdin)])
        return
    out, count, *versions = sys.argv[1:]
    cases = generate(int(count))
    answers = [construction(sources, cases) for _, sources in (one.split("=", 1) for one in versions)]
    first = answers[0]["defaults"]
    groups = {}
    for index, (kind, settings) in enumerate(cases):
        messages, text = [], ""
        for outcome in (answer["outcomes"][index] for answer in answers):
            if outcome not in (None, "?", *messages):
                messages.append(outcome)
            text += "." if outcome is None else "-" if outcome == "?" else str(messages.index(outcome) + 1)
        own = {key: one for key, one in settings.items() if BASE.get(key, out) != one or kind in "DO"}
        groups.setdefault((kind, text, tuple(messages)), []).append(own)
    lines = [{"torch": answers[-1]["torch"], "transformer_engine": ENGINE, "base": BASE}]
    for version, answer in zip(versions, answers):
        defaults = {key: one for key, one in answer["defaults"].items()
                    if answer is answers[0] or key not in first or first[key] != one}
        lines.append({"version": version.split("=")[0], "defaults": defaults})
    lines += [{"class": kind, "answers": text, "messages": messages, "settings": settings}
              for (kind, text, messages), settings in groups.items()]
    with open(out, "w", encoding="utf8") as file:
        file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def construction(sources, cases):
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--construct"], input=json.dumps(cases),
                          env={**os.environ, "PYTHONPATH": sources}, cwd=sources, stdout=subprocess.PIPE, text=True,
                          check=True)
    return json.loads(done.stdout.splitlines()[-1])


main()
