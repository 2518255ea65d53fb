# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Helpers of the training loop."""

import torch

from megatron.core.parallel_state import get_data_parallel_group


def check_weight_hashes(model, iteration, cfg):
    """Compares the replicas' weights, now and then."""
    interval = cfg.train.check_weight_hash_across_dp_replicas_interval
    if interval is None or iteration % interval != 0:
        return
    for param in model.parameters():
        digest = torch.norm(param)
        torch.distributed.all_reduce(digest, group=get_data_parallel_group())


def maybe_dump_memory_snapshot(iteration, cfg):
    """Writes the memory history of rank 0 where the profile ends."""
    if iteration == cfg.profiling.profile_step_end:
        torch.cuda.memory._dump_snapshot("snapshot.pickle")
