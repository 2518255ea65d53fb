# Copyright (c) 2025, NVIDIA CORPORATION.  All rights reserved.

"""The configuration of a run, section by section."""

import torch
from omegaconf import OmegaConf


class Section:
    """Keys of one section."""


class ConfigContainer:
    """All sections with their defaults."""

    def __init__(self):
        self.model = Section()
        self.train = Section()
        self.optimizer = Section()
        self.ddp = Section()
        self.dataset = Section()
        self.scheduler = Section()
        self.logger = Section()
        self.profiling = Section()
        self.comm_overlap = Section()
        self.rng = Section()
        self._set_defaults()

    def _set_defaults(self):
        """Of Megatron Bridge where they differ from Megatron Core's."""
        self.model.tp_comm_overlap = False
        self.model.gradient_accumulation_fusion = True
        self.model.bias_activation_fusion = True
        self.model.bias_dropout_fusion = True
        self.model.apply_rope_fusion = True
        self.model.cross_entropy_loss_fusion = False
        self.model.recompute_granularity = None
        self.model.recompute_modules = []
        self.ddp.use_distributed_optimizer = True
        self.ddp.grad_reduce_in_fp32 = True
        self.ddp.overlap_grad_reduce = True
        self.ddp.overlap_param_gather = True
        self.ddp.pad_buckets_for_high_nccl_busbw = False
        self.optimizer.use_distributed_optimizer = True
        self.optimizer.use_precision_aware_optimizer = False
        self.optimizer.exp_avg_dtype = torch.float32
        self.optimizer.exp_avg_sq_dtype = torch.float32
        self.optimizer.lr = 3e-4
        self.optimizer.min_lr = 3e-5
        self.optimizer.weight_decay = 0.1
        self.optimizer.clip_grad = 1.0
        self.train.manual_gc = False
        self.train.empty_unused_memory_level = 0
        self.train.check_weight_hash_across_dp_replicas_interval = None
        self.dataset.num_workers = 2
        self.dataset.create_attention_mask = False


def load_overrides(cfg, path):
    """Puts the values of a file over those of the recipe."""
    OmegaConf.merge_file(cfg, path)
    cfg.comm_overlap.tp_comm_overlap = cfg.model.tp_comm_overlap


def print_config(cfg):
    """Says what the run will do."""
    print(OmegaConf.to_yaml(cfg))
