# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""The residual connection."""

from megatron.core.jit import jit_fuser


def _bias_dropout_add_func(x, residual):
    """Adds without dropout: pretraining runs with a probability of zero."""
    out = residual + x
    return out


@jit_fuser
def bias_dropout_add_fused_train(x, residual):
    """The same in one kernel."""
    return _bias_dropout_add_func(x, residual)


def get_bias_dropout_add(fused):
    """Which of the two a configuration asks for."""
    if fused:
        return bias_dropout_add_fused_train
    return _bias_dropout_add_func
