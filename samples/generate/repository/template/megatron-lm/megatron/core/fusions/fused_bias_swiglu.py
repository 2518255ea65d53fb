# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""SwiGLU with a backward pass of its own."""

import torch
import torch.nn.functional as F

from megatron.core.jit import jit_fuser


@jit_fuser
def swiglu(y):
    """SiLU of the first half times the second half."""
    y_1, y_2 = torch.chunk(y, 2, -1)
    return F.silu(y_1) * y_2


@jit_fuser
def swiglu_back(g, y):
    """Gradient of swiglu with respect to its input."""
    y_1, y_2 = torch.chunk(y, 2, -1)
    return torch.cat((g * torch.sigmoid(y_1) * y_2, g * F.silu(y_1)), -1)


class SwiGLUFunction(torch.autograd.Function):
    """Keeps only the input for the backward pass."""

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return swiglu(input)

    @staticmethod
    def backward(ctx, grad_output):
        input = ctx.saved_tensors[0]
        tmp = swiglu_back(grad_output, input)
        return tmp


def bias_swiglu_impl(input):
    """SwiGLU of a linear layer without bias."""
    output = SwiGLUFunction.apply(input)
    return output
