# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Builds everything a training loop needs."""

import torch

from megatron.bridge.models.model_provider import get_model
from megatron.bridge.training.initialize import initialize_megatron
from megatron.bridge.training.optim import setup_optimizer


class SetupOutput:
    """Model, optimizer and what belongs to them."""

    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer


def _build_distributed_model(cfg):
    """The model of this rank, wrapped for data parallelism."""
    return get_model(cfg)


def setup(cfg):
    """Process groups, memory history, model, optimizer."""
    initialize_megatron(cfg)
    torch.cuda.memory._record_memory_history()
    model = _build_distributed_model(cfg)
    optimizer = setup_optimizer(cfg, model)
    torch.distributed.barrier()
    return SetupOutput(model, optimizer)
