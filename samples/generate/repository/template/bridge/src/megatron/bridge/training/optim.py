# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Optimizer and scheduler."""

from megatron.core.optimizer import get_megatron_optimizer


def setup_optimizer(cfg, model):
    """The optimizer of the configuration's section."""
    optimizer_config = cfg.optimizer
    optimizer_config.use_distributed_optimizer = cfg.ddp.use_distributed_optimizer
    optimizer = get_megatron_optimizer(optimizer_config, model)
    return optimizer
