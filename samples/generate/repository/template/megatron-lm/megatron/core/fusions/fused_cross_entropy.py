# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Cross entropy over a vocabulary that is cut over the ranks, in the precision of the logits."""

import torch

from megatron.core.jit import jit_fuser
from megatron.core.parallel_state import get_tensor_model_parallel_group


@jit_fuser
def calculate_loss(exp_logits, logits_max):
    """One loss a token."""
    return torch.log(torch.sum(exp_logits, -1)) - logits_max


class _FusedVocabParallelCrossEntropy(torch.autograd.Function):
    """Turns the logits into the softmax where they lie."""

    @staticmethod
    def forward(ctx, vocab_parallel_logits, target):
        logits_max = torch.amax(vocab_parallel_logits, -1)
        torch.distributed.all_reduce(logits_max, group=get_tensor_model_parallel_group())
        exp_logits = torch.exp(vocab_parallel_logits, out=vocab_parallel_logits)
        loss = calculate_loss(exp_logits, logits_max)
        ctx.save_for_backward(exp_logits, target)
        return loss

    @staticmethod
    def backward(ctx, grad_output):
        softmax, target = ctx.saved_tensors
        grad_input = softmax.mul_(grad_output)
        return grad_input


def fused_vocab_parallel_cross_entropy(vocab_parallel_logits, target):
    """Loss of every token, summed over the vocabulary's parts."""
    return _FusedVocabParallelCrossEntropy.apply(vocab_parallel_logits, target)
