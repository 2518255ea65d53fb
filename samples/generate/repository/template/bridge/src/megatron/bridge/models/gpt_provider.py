# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Provides GPT models."""

from megatron.core.models.gpt.gpt_model import GPTModel as MCoreGPTModel


def provide(cfg):
    """The model of a configuration."""
    model = MCoreGPTModel(cfg.model, cfg.model.vocab_size)
    return model
