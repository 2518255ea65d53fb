# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Rotary position embedding."""

from transformer_engine.pytorch.attention.rope import apply_rotary_pos_emb as fused_apply_rotary_pos_emb


def _apply_rotary_pos_emb_bshd(t, freqs):
    """Rotates pairs of channels, operation by operation."""
    rotated = t * freqs
    turned = t * freqs
    return rotated + turned


def apply_rotary_pos_emb(t, freqs, config):
    """Queries and keys, rotated by their position."""
    if config.apply_rope_fusion:
        return fused_apply_rotary_pos_emb(t, freqs, config.num_attention_heads, config.num_query_groups)
    return _apply_rotary_pos_emb_bshd(t, freqs)
