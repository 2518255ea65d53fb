# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Pretrains a model from its recipe and a file of overrides."""

from megatron.bridge.recipes.llama.llama3 import llama3_8b_pretrain_config
from megatron.bridge.training.config import load_overrides, print_config
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.pretrain import pretrain


def main():
    """Entry point of torchrun."""
    cfg = llama3_8b_pretrain_config()
    load_overrides(cfg, "examples/llama3_8b.yaml")
    print_config(cfg)
    pretrain(cfg, forward_step)


if __name__ == "__main__":
    main()
