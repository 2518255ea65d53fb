# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Recipes of Llama 3."""

from megatron.bridge.recipes.utils.precision import bf16_mixed, set_moment_precision
from megatron.bridge.training.config import ConfigContainer


def _llama3_common():
    """What all sizes have in common."""
    cfg = ConfigContainer()
    cfg.model.normalization = "RMSNorm"
    cfg.model.gated_linear_unit = True
    cfg.model.layernorm_epsilon = 1e-5
    cfg.model.rotary_base = 500000
    cfg.model.vocab_size = 128256
    cfg.model.share_embeddings_and_output_weights = False
    cfg.model.cross_entropy_loss_fusion = True
    cfg.train.manual_gc = True
    bf16_mixed(cfg)
    set_moment_precision(cfg)
    return cfg


def llama3_8b_pretrain_config():
    """Llama 3 8B, with as many layers as the overrides leave it."""
    cfg = _llama3_common()
    cfg.model.num_layers = 32
    cfg.model.hidden_size = 4096
    cfg.model.ffn_hidden_size = 14336
    cfg.model.num_attention_heads = 32
    cfg.model.num_query_groups = 8
    cfg.model.kv_channels = 128
    return cfg


def llama3_70b_pretrain_config():
    """Llama 3 70B."""
    cfg = _llama3_common()
    cfg.model.num_layers = 80
    cfg.model.hidden_size = 8192
    cfg.model.ffn_hidden_size = 28672
    cfg.model.num_attention_heads = 64
    cfg.model.num_query_groups = 8
    cfg.model.kv_channels = 128
    return cfg
