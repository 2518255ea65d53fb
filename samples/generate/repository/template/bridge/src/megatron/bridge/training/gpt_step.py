# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Forward step of GPT models."""

import torch

from megatron.bridge.training.losses import masked_next_token_loss, reporting_loss


def get_batch(data_iterator):
    """The next samples, on the device."""
    data = next(data_iterator)
    tokens = data["tokens"].cuda(non_blocking=True)
    labels = data["labels"].cuda(non_blocking=True)
    loss_mask = data["loss_mask"].cuda(non_blocking=True)
    position_ids = data["position_ids"].cuda(non_blocking=True)
    attention_mask = None
    if data["attention_mask"] is not None:
        attention_mask = data["attention_mask"].cuda(non_blocking=True)
    return tokens, labels, loss_mask, position_ids, attention_mask


def _create_loss_function(loss_mask):
    """The loss of a micro-batch, given the model's output."""

    def loss_func(output_tensor):
        loss = masked_next_token_loss(loss_mask, output_tensor)
        return loss, reporting_loss(loss)

    return loss_func


def forward_step(data_iterator, model):
    """One micro-batch through the model."""
    tokens, labels, loss_mask, position_ids, attention_mask = get_batch(data_iterator)
    output_tensor = model(tokens, labels)
    return output_tensor, _create_loss_function(loss_mask)
