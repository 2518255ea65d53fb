# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Moves tensors between the whole sequence and this rank's part of it."""

import torch

from megatron.core.parallel_state import get_tensor_model_parallel_group, get_tensor_model_parallel_world_size
from megatron.core.utils import divide


def _gather_along_first_dim(input_):
    """All parts of the sequence, one after the other."""
    group = get_tensor_model_parallel_group()
    world_size = get_tensor_model_parallel_world_size()
    output = torch.empty(input_.shape[0] * world_size, input_.shape[1], dtype=input_.dtype)
    torch.distributed.all_gather_into_tensor(output, input_, group=group)
    return output


def _reduce_scatter_along_first_dim(input_):
    """The sum over all ranks of this rank's part of the sequence."""
    group = get_tensor_model_parallel_group()
    world_size = get_tensor_model_parallel_world_size()
    output = torch.empty(divide(input_.shape[0], world_size), input_.shape[1], dtype=input_.dtype)
    torch.distributed.reduce_scatter_tensor(output, input_, group=group)
    return output


class _ReduceScatterToSequenceParallelRegion(torch.autograd.Function):
    """Reduce-scatter; its gradient is gathered."""

    @staticmethod
    def forward(ctx, input_):
        return _reduce_scatter_along_first_dim(input_)

    @staticmethod
    def backward(ctx, grad_output):
        return _gather_along_first_dim(grad_output)


def gather_from_sequence_parallel_region(input_):
    """The whole sequence."""
    return _gather_along_first_dim(input_)


def reduce_scatter_to_sequence_parallel_region(input_):
    """This rank's part of the sequence."""
    return _ReduceScatterToSequenceParallelRegion.apply(input_)
