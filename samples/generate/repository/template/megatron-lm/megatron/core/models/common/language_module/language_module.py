# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""What language models have in common."""

from megatron.core.fusions.fused_cross_entropy import fused_vocab_parallel_cross_entropy
from megatron.core.tensor_parallel import vocab_parallel_cross_entropy
from megatron.core.transformer.module import MegatronModule


class LanguageModule(MegatronModule):
    """A module that ends in a loss over the vocabulary."""

    def compute_language_model_loss(self, labels, logits):
        """Loss of every token."""
        if self.config.cross_entropy_loss_fusion:
            loss = fused_vocab_parallel_cross_entropy(logits, labels)
        else:
            loss = vocab_parallel_cross_entropy(logits, labels)
        return loss
