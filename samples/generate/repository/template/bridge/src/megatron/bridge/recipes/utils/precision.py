# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Precision of parameters, gradients and optimizer states."""

import torch


def bf16_mixed(cfg):
    """Parameters and activations in bf16."""
    cfg.mixed_precision = "bf16_mixed"
    cfg.model.params_dtype = torch.bfloat16
    cfg.optimizer.bf16 = True


def set_moment_precision(cfg):
    """Adam's moments as the precision-aware optimizer keeps them."""
    cfg.optimizer.use_precision_aware_optimizer = True
    cfg.optimizer.exp_avg_dtype = torch.bfloat16
    cfg.optimizer.exp_avg_sq_dtype = torch.bfloat16
