# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Process groups."""

import torch

from megatron.core import parallel_state


def initialize_megatron(cfg):
    """Joins the other ranks."""
    torch.distributed.init_process_group(backend="nccl")
    world_size = torch.distributed.get_world_size()
    tensor_parallel = cfg.model.tensor_model_parallel_size
    parallel_state.initialize_model_parallel(tensor_parallel, world_size // tensor_parallel)
    _set_random_seed(cfg.rng.seed)


def _set_random_seed(seed):
    """The same on all ranks of a model."""
    torch.manual_seed(seed)
