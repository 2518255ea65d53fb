# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""Data loaders."""

from megatron.core.datasets.blended import BlendedDataset


def _dataset_of(cfg):
    """The blend of the dataset section."""
    return BlendedDataset(cfg.model.seq_length, cfg.train.micro_batch_size, cfg.dataset.create_attention_mask)


def build_train_data_iterator(cfg):
    """Endless batches of this rank."""
    return iter(_dataset_of(cfg))
