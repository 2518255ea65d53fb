# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Recomputes activations in the backward pass instead of keeping them."""

import torch


def detach_variable(inputs):
    """The same tensors without their history."""
    detached = []
    for inp in inputs:
        detached.append(inp.detach().requires_grad_())
    return detached


class CheckpointFunction(torch.autograd.Function):
    """Runs a function without keeping what its backward pass needs, and again when that comes."""

    @staticmethod
    def forward(ctx, run_function, *args):
        ctx.run_function = run_function
        with torch.no_grad():
            outputs = run_function(*args)
        ctx.save_for_backward(*args)
        return outputs

    @staticmethod
    def backward(ctx, grad_output):
        inputs = ctx.saved_tensors
        detached_inputs = detach_variable(inputs)
        with torch.enable_grad():
            outputs = ctx.run_function(*detached_inputs)
        torch.autograd.backward(outputs, grad_output)
        grads = [inp.grad for inp in detached_inputs]
        return tuple(grads)


def checkpoint(function, *args):
    """A function whose intermediate results are not kept."""
    return CheckpointFunction.apply(function, *args)
