# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Cross entropy over a vocabulary that is cut over the ranks."""

import torch

from megatron.core.parallel_state import get_tensor_model_parallel_group


class VocabParallelCrossEntropy:
    """The steps of the loss."""

    @staticmethod
    def calculate_logits_max(vocab_parallel_logits):
        """Logits in full precision, and the largest of every token."""
        vocab_parallel_logits = vocab_parallel_logits.float()
        logits_max = torch.amax(vocab_parallel_logits, -1)
        return vocab_parallel_logits, logits_max

    @staticmethod
    def calculate_cross_entropy_loss(exp_logits, logits_max):
        """One loss a token."""
        sum_exp_logits = torch.sum(exp_logits, -1)
        loss = torch.log(sum_exp_logits) - logits_max
        return loss


class _VocabParallelCrossEntropy(torch.autograd.Function):
    """Keeps the softmax for the backward pass."""

    @staticmethod
    def forward(ctx, vocab_parallel_logits, target):
        vocab_parallel_logits, logits_max = VocabParallelCrossEntropy.calculate_logits_max(vocab_parallel_logits)
        torch.distributed.all_reduce(logits_max, group=get_tensor_model_parallel_group())
        exp_logits = torch.exp(vocab_parallel_logits, out=vocab_parallel_logits)
        loss = VocabParallelCrossEntropy.calculate_cross_entropy_loss(exp_logits, logits_max)
        ctx.save_for_backward(exp_logits, target)
        return loss

    @staticmethod
    def backward(ctx, grad_output):
        softmax, target = ctx.saved_tensors
        grad_input = softmax.mul_(grad_output)
        return grad_input


def vocab_parallel_cross_entropy(vocab_parallel_logits, target):
    """Loss of every token, summed over the vocabulary's parts."""
    return _VocabParallelCrossEntropy.apply(vocab_parallel_logits, target)
