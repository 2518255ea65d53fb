# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Transformer Engine's layers with Megatron's way of cutting them into parts."""

import transformer_engine.pytorch as te

from megatron.core.parallel_state import get_tensor_model_parallel_world_size
from megatron.core.utils import divide


class TENorm(te.RMSNorm):
    """RMSNorm over the hidden size."""

    def __init__(self, hidden_size, config):
        super().__init__(hidden_size, dtype=config.params_dtype, eps=config.layernorm_epsilon)

    def forward(self, x):
        return super().forward(x)


class TERowParallelLinear(te.Linear):
    """A linear layer whose input is cut over the tensor-parallel ranks."""

    def __init__(self, input_size, output_size, config):
        world_size = get_tensor_model_parallel_world_size()
        super().__init__(
            divide(input_size, world_size),
            output_size,
            params_dtype=config.params_dtype,
            sequence_parallel=config.sequence_parallel,
            fuse_wgrad_accumulation=config.gradient_accumulation_fusion,
            ub_overlap=config.tp_comm_overlap,
            tp_size=world_size,
            parallel_mode="row",
        )

    def forward(self, x):
        out = super().forward(x)
        return out


class TELayerNormColumnParallelLinear(te.LayerNormLinear):
    """A norm and a linear layer whose output is cut over the tensor-parallel ranks."""

    def __init__(self, input_size, output_size, config):
        world_size = get_tensor_model_parallel_world_size()
        super().__init__(
            input_size,
            divide(output_size, world_size),
            params_dtype=config.params_dtype,
            sequence_parallel=config.sequence_parallel,
            fuse_wgrad_accumulation=config.gradient_accumulation_fusion,
            ub_overlap=config.tp_comm_overlap,
            tp_size=world_size,
            parallel_mode="column",
        )

    def forward(self, x):
        out = super().forward(x)
        return out


class TEDotProductAttention(te.DotProductAttention):
    """Fused attention over the heads of this rank."""

    def __init__(self, config):
        world_size = get_tensor_model_parallel_world_size()
        super().__init__(
            divide(config.num_attention_heads, world_size),
            divide(config.num_query_groups, world_size),
            config.kv_channels,
        )

    def forward(self, query_key, value):
        core_attn_out = super().forward(query_key, value)
        return core_attn_out
