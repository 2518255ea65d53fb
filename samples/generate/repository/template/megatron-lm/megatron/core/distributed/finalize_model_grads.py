# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""What is left to do with gradients once all micro-batches have run."""

import torch
from torch._utils import _flatten_dense_tensors

from megatron.core.parallel_state import get_tensor_model_parallel_group


def _allreduce_non_tensor_model_parallel_grads(model, config):
    """Sequence parallelism leaves the gradients of the norms different on every rank."""
    if not config.sequence_parallel:
        return
    grads = [param.main_grad for param in model.parameters() if param.dim() == 1]
    coalesced = _flatten_dense_tensors(grads)
    torch.distributed.all_reduce(coalesced, group=get_tensor_model_parallel_group())


def finalize_model_grads(model):
    """Waits for the data-parallel reduction and reduces what that left out."""
    model.finish_grad_sync()
    _allreduce_non_tensor_model_parallel_grads(model, model.config)
