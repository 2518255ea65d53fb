# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Builds the optimizer of a configuration."""

from transformer_engine.pytorch.optimizers import FusedAdam

from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer
from megatron.core.utils import log_single_rank


def _get_megatron_optimizer_based_on_param_groups(config, model):
    """Adam over this rank's part of the parameters."""
    adam = FusedAdam(
        lr=config.lr,
        weight_decay=config.weight_decay,
        exp_avg_dtype=config.exp_avg_dtype,
        exp_avg_sq_dtype=config.exp_avg_sq_dtype,
    )
    optimizer = DistributedOptimizer(adam, config, model)
    return optimizer


def get_megatron_optimizer(config, model):
    """The optimizer that the configuration names."""
    log_single_rank("Setting up optimizer")
    return _get_megatron_optimizer_based_on_param_groups(config, model)
