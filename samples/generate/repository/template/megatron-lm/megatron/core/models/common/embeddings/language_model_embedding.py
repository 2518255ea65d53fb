# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Token embedding."""

from megatron.core.tensor_parallel import VocabParallelEmbedding
from megatron.core.transformer.module import MegatronModule


class LanguageModelEmbedding(MegatronModule):
    """Positions are rotary, so tokens are all there is to embed."""

    def __init__(self, config, vocab_size):
        super().__init__(config)
        self.word_embeddings = VocabParallelEmbedding(vocab_size, config.hidden_size, config)

    def forward(self, input_ids):
        word_embeddings = self.word_embeddings(input_ids)
        return word_embeddings
