# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Grouped-query attention."""

from megatron.core import tensor_parallel
from megatron.core.extensions.transformer_engine import (
    TEDotProductAttention,
    TELayerNormColumnParallelLinear,
    TERowParallelLinear,
)
from megatron.core.models.common.embeddings.rope_utils import apply_rotary_pos_emb
from megatron.core.transformer.module import MegatronModule


class SelfAttention(MegatronModule):
    """Projects to queries, keys and values, attends, and projects back."""

    def __init__(self, config, layer_number):
        super().__init__(config)
        self.layer_number = layer_number
        self.query_projection_size = config.kv_channels * config.num_attention_heads
        self.kv_projection_size = config.kv_channels * config.num_query_groups
        self.checkpoint_core_attention = self._recomputes_core_attention()
        self.core_attention = TEDotProductAttention(config)
        self.linear_proj = TERowParallelLinear(self.query_projection_size, config.hidden_size, config)
        self.linear_qkv = TELayerNormColumnParallelLinear(
            config.hidden_size, self.query_projection_size + 2 * self.kv_projection_size, config
        )

    def _recomputes_core_attention(self):
        """Whether the attention itself is run again in the backward pass."""
        if self.config.recompute_granularity != "selective":
            return False
        return "core_attn" in self.config.recompute_modules

    def get_query_key_value_tensors(self, hidden_states):
        """Queries, keys and values in one tensor."""
        mixed_qkv = self.linear_qkv(hidden_states)
        return mixed_qkv

    def _checkpointed_attention_forward(self, query_key, value):
        """Attention whose result is kept, but nothing in between."""

        def custom_forward(*inputs):
            query_key = inputs[0]
            value = inputs[1]
            output_ = self.core_attention(query_key, value)
            return output_

        hidden_states = tensor_parallel.checkpoint(custom_forward, query_key, value)
        return hidden_states

    def forward(self, hidden_states, rotary_pos_emb):
        mixed_qkv = self.get_query_key_value_tensors(hidden_states)
        query_key = apply_rotary_pos_emb(mixed_qkv, rotary_pos_emb, self.config)
        if self.checkpoint_core_attention:
            core_attn_out = self._checkpointed_attention_forward(query_key, mixed_qkv)
        else:
            core_attn_out = self.core_attention(query_key, mixed_qkv)
        del query_key
        output = self.linear_proj(core_attn_out)
        return output
