# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""The groups of ranks that share a model or split the data."""

import torch

_GROUPS = {}


def initialize_model_parallel(tensor_model_parallel_size, data_parallel_size):
    """Makes the tensor-parallel and the data-parallel group of this rank."""
    _GROUPS["tp"] = torch.distributed.new_group("tensor", tensor_model_parallel_size)
    _GROUPS["dp"] = torch.distributed.new_group("data", data_parallel_size)


def get_tensor_model_parallel_group():
    """The ranks that hold the parts of one layer."""
    return _GROUPS["tp"]


def get_tensor_model_parallel_world_size():
    """How many ranks hold the parts of one layer."""
    return torch.distributed.get_world_size(_GROUPS["tp"])


def get_data_parallel_group():
    """The ranks that see other samples with the same weights."""
    return _GROUPS["dp"]


def get_data_parallel_world_size():
    """How many replicas of the weights there are."""
    return torch.distributed.get_world_size(_GROUPS["dp"])
