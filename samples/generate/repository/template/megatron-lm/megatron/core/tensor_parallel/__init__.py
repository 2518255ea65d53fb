# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Layers and functions that are cut over the tensor-parallel ranks."""

from megatron.core.tensor_parallel.cross_entropy import vocab_parallel_cross_entropy
from megatron.core.tensor_parallel.layers import ColumnParallelLinear, VocabParallelEmbedding
from megatron.core.tensor_parallel.random import checkpoint
