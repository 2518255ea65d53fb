# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""What all modules of Megatron Core have in common."""

import torch


class MegatronModule(torch.nn.Module):
    """A module that knows its configuration."""

    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, *inputs):
        raise NotImplementedError("forward")


class Float16Module(MegatronModule):
    """Runs a module in half precision."""

    def __init__(self, config, module):
        super().__init__(config)
        self.module = module

    def forward(self, *inputs):
        outputs = self.module(*inputs)
        return outputs
