# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Pretraining from setup to the last step."""

from megatron.bridge.data.loaders import build_train_data_iterator
from megatron.bridge.training.setup import setup
from megatron.bridge.training.train import train


def _pretrain(cfg, forward_step_func):
    """Sets up, trains, and finishes."""
    setup_output = setup(cfg)
    train_data_iterator = build_train_data_iterator(cfg)
    train(forward_step_func, setup_output, train_data_iterator, cfg)


def pretrain(config, forward_step_func):
    """What scripts call."""
    _pretrain(config, forward_step_func)
