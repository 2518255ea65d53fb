# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Contiguous buffers of parameters and gradients."""

import torch

from megatron.core.parallel_state import get_data_parallel_group, get_data_parallel_world_size
from megatron.core.utils import divide, round_up_to_multiple

BUCKET_ALIGNMENT = 128


def pad_bucket(numel, ddp_config):
    """The length of the buffer: all ranks own equal parts of it."""
    multiple = BUCKET_ALIGNMENT * get_data_parallel_world_size()
    if ddp_config.pad_buckets_for_high_nccl_busbw:
        multiple = 2 ** 22 * get_data_parallel_world_size()
    return round_up_to_multiple(numel, multiple)


class _ParamAndGradBuffer:
    """All parameters of one dtype, and their gradients."""

    def __init__(self, ddp_config, param_dtype, grad_dtype, params):
        self.ddp_config = ddp_config
        self.params = params
        self.numel = pad_bucket(sum([param.numel() for param in params]), ddp_config)
        self.param_data = torch.zeros(self.numel, dtype=param_dtype)
        self.grad_data = torch.zeros(self.numel, dtype=grad_dtype)
        self._map_parameters()
        self.grad_reduce_handle = None

    def _map_parameters(self):
        """Puts the parameters into the buffer, the last one first."""
        offset = 0
        for param in reversed(self.params):
            param.data = self.param_data.narrow(0, offset, param.numel())
            param.main_grad = self.grad_data.narrow(0, offset, param.numel())
            offset = offset + param.numel()

    def start_grad_sync(self):
        """Sums the gradients over the data-parallel ranks; each keeps its part."""
        group = get_data_parallel_group()
        shard = self.grad_data.narrow(0, 0, divide(self.numel, get_data_parallel_world_size()))
        self.grad_reduce_handle = torch.distributed.reduce_scatter_tensor(
            shard, self.grad_data, group=group, async_op=self.ddp_config.overlap_grad_reduce
        )

    def finish_grad_sync(self):
        """Waits for the sum."""
        self.start_grad_sync()
        if self.grad_reduce_handle is not None:
            self.grad_reduce_handle.wait()
            self.grad_reduce_handle = None

    def start_param_sync(self):
        """Collects the parameters that the other ranks have updated."""
        group = get_data_parallel_group()
        shard = self.param_data.narrow(0, 0, divide(self.numel, get_data_parallel_world_size()))
        handle = torch.distributed.all_gather_into_tensor(
            self.param_data, shard, group=group, async_op=self.ddp_config.overlap_param_gather
        )
        if handle is not None:
            handle.wait()

    def reset(self):
        """Zeroes the gradients."""
        self.grad_data.zero_()
