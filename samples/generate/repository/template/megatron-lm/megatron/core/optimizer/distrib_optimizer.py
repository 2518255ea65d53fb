# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""An optimizer whose state is divided among the data-parallel ranks."""

import torch

from megatron.core.optimizer.optimizer import MixedPrecisionOptimizer
from megatron.core.parallel_state import get_data_parallel_world_size


class DistributedOptimizer(MixedPrecisionOptimizer):
    """This rank's part of main parameters and Adam's states."""

    def __init__(self, optimizer, config, model):
        super().__init__(optimizer, config, model)
        self.shard_grads = []
        self.shard_model_params = []
        self.shard_fp32_params = self._build_model_and_main_param_groups()

    def _shard_size(self, model_param):
        """Elements of a parameter that this rank owns."""
        if not self.config.use_distributed_optimizer:
            return model_param.numel()
        return model_param.numel() // get_data_parallel_world_size()

    def _build_model_and_main_param_groups(self):
        """A copy in full precision of what this rank owns."""
        shard_fp32_params = []
        for model_param in self.model.parameters():
            shard_size = self._shard_size(model_param)
            shard_model_param = model_param.detach().narrow(0, 0, shard_size)
            shard_main_param = shard_model_param.clone().float()
            shard_fp32_params.append(shard_main_param)
            self.shard_model_params.append(shard_model_param)
            self.shard_grads.append(model_param.main_grad.narrow(0, 0, shard_size))
        return shard_fp32_params

    def _copy_main_params_to_model_params(self):
        """The updated parameters, rounded to the model's precision."""
        for shard_model_param, shard_main_param in zip(self.shard_model_params, self.shard_fp32_params):
            shard_model_param.copy_(shard_main_param)
