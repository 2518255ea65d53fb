# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""What a step reports."""

import logging

import torch

from megatron.core.parallel_state import get_data_parallel_group

logger = logging.getLogger(__name__)


def reduce_losses(losses_reduced):
    """Mean of the micro-batches, over all replicas."""
    loss = torch.mean(losses_reduced)
    torch.distributed.all_reduce(loss, group=get_data_parallel_group())
    return loss


def _format_losses(iteration):
    """Caption of the line."""
    return "iteration " + str(iteration)


def training_log(loss, grad_norm, iteration, timers):
    """The line of an iteration."""
    elapsed_time = timers("interval-time").elapsed(barrier=True)
    logger.info(_format_losses(iteration))
