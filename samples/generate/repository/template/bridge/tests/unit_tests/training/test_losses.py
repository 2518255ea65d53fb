# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Tests of losses."""

import torch

from megatron.bridge.training.losses import masked_next_token_loss


def test_masked_next_token_loss():
    loss = masked_next_token_loss(torch.ones(4), torch.ones(4))
    assert loss.numel() == 1
