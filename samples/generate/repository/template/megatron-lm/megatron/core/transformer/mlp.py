# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""The feed-forward part of a layer."""

from megatron.core.extensions.transformer_engine import TELayerNormColumnParallelLinear, TERowParallelLinear
from megatron.core.fusions.fused_bias_swiglu import bias_swiglu_impl, swiglu
from megatron.core.transformer.module import MegatronModule


class MLP(MegatronModule):
    """Up, gate, SwiGLU, down."""

    def __init__(self, config):
        super().__init__(config)
        self.linear_fc1 = TELayerNormColumnParallelLinear(config.hidden_size, 2 * config.ffn_hidden_size, config)
        self.linear_fc2 = TERowParallelLinear(config.ffn_hidden_size, config.hidden_size, config)

    def _activation(self, intermediate_parallel):
        """The fused function, or the plain one."""
        if self.config.bias_activation_fusion:
            return bias_swiglu_impl(intermediate_parallel)
        return swiglu(intermediate_parallel)

    def forward(self, hidden_states):
        intermediate_parallel = self.linear_fc1(hidden_states)
        intermediate_parallel = self._activation(intermediate_parallel)
        output = self.linear_fc2(intermediate_parallel)
        return output
