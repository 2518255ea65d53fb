# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Embedding and output layer, cut over the vocabulary."""

import fused_weight_gradient_mlp_cuda
import torch
import torch.nn.functional as F

from megatron.core.parallel_state import get_tensor_model_parallel_group, get_tensor_model_parallel_world_size
from megatron.core.tensor_parallel.mappings import (
    gather_from_sequence_parallel_region,
    reduce_scatter_to_sequence_parallel_region,
)
from megatron.core.utils import divide


class VocabParallelEmbedding(torch.nn.Module):
    """Rows of the embedding that belong to this rank's part of the vocabulary."""

    def __init__(self, num_embeddings, embedding_dim, config):
        super().__init__()
        self.config = config
        rows = divide(num_embeddings, get_tensor_model_parallel_world_size())
        self.weight = torch.nn.Parameter(torch.empty(rows, embedding_dim, dtype=config.params_dtype))

    def forward(self, input_):
        output_parallel = F.embedding(input_, self.weight)
        if self.config.sequence_parallel:
            output = reduce_scatter_to_sequence_parallel_region(output_parallel)
            return output
        return output_parallel


class LinearWithGradAccumulationAndAsyncCommunication(torch.autograd.Function):
    """A product whose weight gradient goes straight into the buffer."""

    @staticmethod
    def forward(ctx, input, weight, sequence_parallel, fusion):
        ctx.save_for_backward(input, weight)
        ctx.sequence_parallel = sequence_parallel
        ctx.fusion = fusion
        if sequence_parallel:
            total_input = gather_from_sequence_parallel_region(input)
        else:
            total_input = input
        output = torch.matmul(total_input, weight)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        if ctx.sequence_parallel:
            total_input = gather_from_sequence_parallel_region(input)
        else:
            total_input = input
        grad_input = grad_output.matmul(weight.t())
        if ctx.sequence_parallel:
            sub_grad_input = reduce_scatter_to_sequence_parallel_region(grad_input)
            del grad_input
        else:
            sub_grad_input = grad_input
        if ctx.fusion:
            fused_weight_gradient_mlp_cuda.wgrad_gemm_accum_fp32(total_input, grad_output, weight.main_grad)
        else:
            grad_weight = grad_output.t().matmul(total_input)
            weight.main_grad.add_(grad_weight)
            del grad_weight
        return sub_grad_input


class ColumnParallelLinear(torch.nn.Module):
    """A linear layer whose output is cut over the tensor-parallel ranks."""

    def __init__(self, input_size, output_size, config):
        super().__init__()
        self.config = config
        output_size_per_partition = divide(output_size, get_tensor_model_parallel_world_size())
        self.weight = torch.nn.Parameter(
            torch.empty(output_size_per_partition, input_size, dtype=config.params_dtype)
        )

    def forward(self, input_):
        output_parallel = LinearWithGradAccumulationAndAsyncCommunication.apply(
            input_, self.weight, self.config.sequence_parallel, self.config.gradient_accumulation_fusion
        )
        return output_parallel
