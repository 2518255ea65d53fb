# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""The training loop."""

import gc

import torch

from megatron.bridge.training.utils.log_utils import reduce_losses, training_log
from megatron.bridge.training.utils.train_utils import check_weight_hashes, maybe_dump_memory_snapshot
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.timers import Timers


def _num_microbatches(cfg):
    """Micro-batches of this rank in one step."""
    world_size = torch.distributed.get_world_size()
    data_parallel_size = world_size // cfg.model.tensor_model_parallel_size
    return cfg.train.global_batch_size // (cfg.train.micro_batch_size * data_parallel_size)


def train_step(forward_step_func, data_iterator, model, optimizer, cfg):
    """Forward, backward and update."""
    model.zero_grad_buffer()
    forward_backward_func = get_forward_backward_func()
    losses_reduced = forward_backward_func(forward_step_func, data_iterator, model, _num_microbatches(cfg))
    if cfg.train.empty_unused_memory_level >= 1:
        torch.cuda.empty_cache()
    update_successful, grad_norm = optimizer.step()
    if cfg.train.empty_unused_memory_level >= 2:
        torch.cuda.empty_cache()
    loss = reduce_losses(losses_reduced)
    return loss, grad_norm


def train(forward_step_func, setup_output, data_iterator, cfg):
    """Steps until the run is told to stop."""
    model = setup_output.model
    optimizer = setup_output.optimizer
    timers = Timers()
    if cfg.train.manual_gc:
        gc.disable()
        gc.collect()
    for iteration in range(1, cfg.train.exit_interval + 1):
        timers("interval-time").start(barrier=True)
        loss, grad_norm = train_step(forward_step_func, data_iterator, model, optimizer, cfg)
        check_weight_hashes(model, iteration, cfg)
        maybe_dump_memory_snapshot(iteration, cfg)
        training_log(loss, grad_norm, iteration, timers)
