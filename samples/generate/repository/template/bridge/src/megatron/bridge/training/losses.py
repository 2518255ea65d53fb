# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Losses over tokens."""

import torch


def masked_next_token_loss(loss_mask, output_tensor):
    """Mean over the tokens that count."""
    losses = output_tensor.view(-1)
    loss = torch.sum(losses * loss_mask)
    return loss


def reporting_loss(loss):
    """What the log shows: without history."""
    return loss.detach().clone()
