# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Frequencies of the rotary position embedding."""

import torch


class RotaryEmbedding(torch.nn.Module):
    """One angle a position and pair of channels."""

    def __init__(self, kv_channels, rotary_base):
        super().__init__()
        self.kv_channels = kv_channels
        self.rotary_base = rotary_base

    def get_freqs_non_repeated(self, max_seq_len):
        """Angles of all positions."""
        freqs = torch.empty(max_seq_len, self.kv_channels, dtype=torch.float32)
        return freqs

    def forward(self, max_seq_len):
        freqs = self.get_freqs_non_repeated(max_seq_len)
        return freqs
