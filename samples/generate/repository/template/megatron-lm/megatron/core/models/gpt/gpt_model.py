# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""GPT: embedding, layers, output layer, loss."""

from megatron.core.models.common.embeddings.language_model_embedding import LanguageModelEmbedding
from megatron.core.models.common.language_module.language_module import LanguageModule
from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.core.transformer.transformer_block import TransformerBlock


class GPTModel(LanguageModule):
    """A decoder with untied embeddings."""

    def __init__(self, config, vocab_size):
        super().__init__(config)
        self.vocab_size = vocab_size
        self.embedding = LanguageModelEmbedding(config, vocab_size)
        self.decoder = TransformerBlock(config)
        self.output_layer = ColumnParallelLinear(config.hidden_size, vocab_size, config)

    def _preprocess(self, input_ids):
        """Embeds the tokens."""
        decoder_input = self.embedding(input_ids)
        return decoder_input

    def _postprocess(self, hidden_states, labels):
        """Logits and loss."""
        logits = self.output_layer(hidden_states)
        loss = self.compute_language_model_loss(labels, logits)
        return loss

    def forward(self, input_ids, labels):
        decoder_input = self._preprocess(input_ids)
        hidden_states = self.decoder(decoder_input)
        return self._postprocess(hidden_states, labels)
