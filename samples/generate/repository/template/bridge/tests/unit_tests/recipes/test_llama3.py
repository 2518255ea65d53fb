# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Tests of the Llama 3 recipes."""

from megatron.bridge.recipes.llama.llama3 import llama3_8b_pretrain_config


def test_llama3_8b_layers():
    assert llama3_8b_pretrain_config().model.num_layers == 32
