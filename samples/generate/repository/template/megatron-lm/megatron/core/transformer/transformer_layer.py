# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""One layer: attention and MLP with their residual connections."""

from megatron.core.fusions.fused_bias_dropout import get_bias_dropout_add
from megatron.core.transformer.attention import SelfAttention
from megatron.core.transformer.mlp import MLP
from megatron.core.transformer.module import MegatronModule


class TransformerLayer(MegatronModule):
    """Pre-norm, as all models of the Llama kind."""

    def __init__(self, config, layer_number):
        super().__init__(config)
        self.layer_number = layer_number
        self.self_attention = SelfAttention(config, layer_number)
        self.mlp = MLP(config)
        self.bias_dropout_add = get_bias_dropout_add(config.bias_dropout_fusion)

    def forward(self, hidden_states, rotary_pos_emb):
        hidden_states = self._forward_attention(hidden_states, rotary_pos_emb)
        output = self._forward_mlp(hidden_states)
        return output

    def _forward_attention(self, hidden_states, rotary_pos_emb):
        """Attention and its residual connection."""
        residual = hidden_states
        attention_output = self.self_attention(hidden_states, rotary_pos_emb)
        hidden_states = self.bias_dropout_add(attention_output, residual)
        return hidden_states

    def _forward_mlp(self, hidden_states):
        """MLP and its residual connection."""
        residual = hidden_states
        mlp_output = self.mlp(hidden_states)
        hidden_states = self.bias_dropout_add(mlp_output, residual)
        return hidden_states
