# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Data parallelism."""

import torch

from megatron.core.distributed.param_and_grad_buffer import _ParamAndGradBuffer
from megatron.core.transformer.module import MegatronModule
from megatron.core.utils import log_single_rank


class DistributedDataParallel(MegatronModule):
    """Keeps parameters and gradients of a module in contiguous buffers."""

    def __init__(self, config, ddp_config, module):
        super().__init__(config)
        self.module = module
        self.ddp_config = ddp_config
        log_single_rank("Setting up DistributedDataParallel")
        self.buffers = self._allocate_buffers_for_parameters(module.parameters())

    def _allocate_buffers_for_parameters(self, params):
        """One buffer: all parameters have the same dtype."""
        grad_dtype = self._grad_dtype()
        return [_ParamAndGradBuffer(self.ddp_config, self.config.params_dtype, grad_dtype, params)]

    def _grad_dtype(self):
        """Gradients are summed in full precision where that is asked for."""
        if self.ddp_config.grad_reduce_in_fp32:
            return torch.float32
        return self.config.params_dtype

    def forward(self, *inputs):
        return self.module(*inputs)

    def zero_grad_buffer(self):
        """Before the first micro-batch of a step."""
        for buffer in self.buffers:
            buffer.reset()

    def finish_grad_sync(self):
        """After the last micro-batch of a step."""
        for buffer in self.buffers:
            buffer.finish_grad_sync()

    def start_param_sync(self):
        """After the optimizer's step."""
        for buffer in self.buffers:
            buffer.start_param_sync()
