# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""A step of mixed-precision training."""

from megatron.core.optimizer.clip_grads import clip_grad_by_total_norm_fp32, get_grad_norm_fp32


class MixedPrecisionOptimizer:
    """Keeps main parameters in full precision beside the model's."""

    def __init__(self, optimizer, config, model):
        self.optimizer = optimizer
        self.config = config
        self.model = model

    def get_grad_norm(self):
        """Norm of this rank's gradients, summed over all ranks."""
        grads_for_norm = self._grads_for_norm()
        return get_grad_norm_fp32(grads_for_norm)

    def _grads_for_norm(self):
        """The gradients of the first buffer: there is no other."""
        return self.model.buffers[0].grad_data

    def step_with_ready_grads(self):
        """Updates the main parameters and copies them to the model's."""
        self.optimizer.step(self.shard_fp32_params, self.shard_grads)
        self._copy_main_params_to_model_params()
        return True

    def step(self):
        """Clips, updates, and hands the parameters out."""
        grad_norm = self.get_grad_norm()
        if self.config.clip_grad > 0.0:
            clip_grad_by_total_norm_fp32(self._grads_for_norm(), self.config.clip_grad, grad_norm)
        success = self.step_with_ready_grads()
        self.model.start_param_sync()
        return success, grad_norm
