# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""All layers of a stage."""

import torch

from megatron.core import tensor_parallel
from megatron.core.extensions.transformer_engine import TENorm
from megatron.core.models.common.embeddings.rotary_pos_embedding import RotaryEmbedding
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.transformer_layer import TransformerLayer


class TransformerBlock(MegatronModule):
    """A stack of layers and the norm behind it."""

    def __init__(self, config):
        super().__init__(config)
        self.rotary_pos_emb = RotaryEmbedding(config.kv_channels, config.rotary_base)
        self._build_layers()

    def _build_layer(self, layer_number):
        """Layers are numbered from 1."""
        return TransformerLayer(self.config, layer_number)

    def _build_layers(self):
        """The layers of this stage, then the final norm."""
        self.layers = torch.nn.ModuleList([self._build_layer(i + 1) for i in range(self.config.num_layers)])
        self.final_layernorm = TENorm(self.config.hidden_size, self.config)

    def _checkpointed_forward(self, hidden_states, rotary_pos_emb):
        """Keeps the input of every layer and nothing else."""

        def custom(index):
            def custom_forward(hidden_states, rotary_pos_emb):
                layer = self.layers[index]
                hidden_states = layer(hidden_states, rotary_pos_emb)
                return hidden_states

            return custom_forward

        for index in range(self.config.num_layers):
            hidden_states = tensor_parallel.checkpoint(custom(index), hidden_states, rotary_pos_emb)
        return hidden_states

    def forward(self, hidden_states):
        rotary_pos_emb = self.rotary_pos_emb(self.config.seq_length)
        if self.config.recompute_granularity == "full":
            hidden_states = self._checkpointed_forward(hidden_states, rotary_pos_emb)
        else:
            for layer in self.layers:
                hidden_states = layer(hidden_states, rotary_pos_emb)
        hidden_states = self.final_layernorm(hidden_states)
        return hidden_states
