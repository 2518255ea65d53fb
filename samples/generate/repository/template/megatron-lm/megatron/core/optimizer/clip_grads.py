# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Norm of the gradients."""

import torch

from megatron.core.parallel_state import get_data_parallel_group


def get_grad_norm_fp32(grads_for_norm):
    """The norm over all ranks."""
    grad_norm = torch.norm(grads_for_norm)
    torch.distributed.all_reduce(grad_norm, group=get_data_parallel_group())
    return grad_norm


def clip_grad_by_total_norm_fp32(grads, max_norm, total_norm):
    """Scales gradients down whose norm is too large."""
    grads.mul_(max_norm)
