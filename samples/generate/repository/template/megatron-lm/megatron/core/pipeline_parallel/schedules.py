# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Runs the micro-batches of a step."""

import torch

from megatron.core.distributed.finalize_model_grads import finalize_model_grads


def forward_step(forward_step_func, data_iterator, model, forward_data_store):
    """Forward pass of one micro-batch."""
    output_tensor, loss_func = forward_step_func(data_iterator, model)
    loss, report = loss_func(output_tensor)
    forward_data_store.append(report)
    return loss


def backward_step(output_tensor):
    """Backward pass of one micro-batch."""
    torch.autograd.backward(output_tensor)


def forward_backward_no_pipelining(forward_step_func, data_iterator, model, num_microbatches):
    """All micro-batches of a model that lies on one stage."""
    forward_data_store = []
    for i in range(num_microbatches):
        output_tensor = forward_step(forward_step_func, data_iterator, model, forward_data_store)
        backward_step(output_tensor)
    finalize_model_grads(model)
    return forward_data_store


def get_forward_backward_func():
    """The schedule for the parallel layout."""
    return forward_backward_no_pipelining
