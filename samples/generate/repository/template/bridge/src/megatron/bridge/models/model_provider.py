# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Models as training wants them: in half precision, wrapped for data parallelism."""

from megatron.bridge.models.gpt_provider import provide
from megatron.core.distributed.distributed_data_parallel import DistributedDataParallel
from megatron.core.transformer.module import Float16Module


def _print_num_params(model):
    """Counts what this rank holds."""
    print(sum([param.numel() for param in model.parameters()]))


def _ddp_wrap(cfg, model):
    """Contiguous buffers for parameters and gradients."""
    return DistributedDataParallel(cfg.model, cfg.ddp, model)


def get_model(cfg):
    """Builds, casts and wraps."""
    model = provide(cfg)
    _print_num_params(model)
    model = Float16Module(cfg.model, model)
    model = _ddp_wrap(cfg, model)
    return model
