/** After the last micro-batch: gradient finalisation, norm, Adam; and the gather of optimizer state for a checkpoint. */
import type { CallPath } from '../code-line.js';
import type { OuterFrames } from './outer-frames.js';
import { at, TE } from './sources.js';

export interface OptimizerSites {
  /** Flat buffer for the gradients of the norms, which sequence parallelism leaves different on every tensor-parallel rank. */
  readonly normGradients: CallPath;
  readonly gradientNorm: CallPath;
  readonly expAvg: CallPath;
  readonly expAvgSq: CallPath;
  /** Optimizer state of all data-parallel ranks, gathered on the device. */
  readonly checkpointGather: CallPath;
}

export function optimizerSites(core: string, outer: OuterFrames): OptimizerSites {
  const optimizer = `${core}optimizer/optimizer.py`;
  const chained = at('step', optimizer, 1187, 'success = self.step_with_ready_grads()');
  const step: CallPath = [
    at('step_with_ready_grads', optimizer, 512, 'self.optimizer.step()'),
    at('step_with_ready_grads', optimizer, 1109, 'success &= optimizer.step_with_ready_grads()'),
    chained,
    ...outer.optimizerStep,
  ];
  const adam = `${TE}optimizers/fused_adam.py`;
  const states = (line: number, source: string): CallPath => [
    at('_initialize_state', adam, 352, 'data = torch.zeros(shape, dtype=dtype, device=param.device)'),
    at('initialize_state', adam, line, source),
    at('step', adam, 586, 'self.initialize_state(p, store_param_remainders)'),
    ...step,
  ];
  return {
    normGradients: [
      at(
        '_allreduce_non_tensor_model_parallel_grads',
        `${core}distributed/finalize_model_grads.py`,
        288,
        'coalesced = _flatten_dense_tensors(grads)',
      ),
      at(
        'finalize_model_grads',
        `${core}distributed/finalize_model_grads.py`,
        431,
        '_allreduce_non_tensor_model_parallel_grads(model, config)',
      ),
      ...outer.schedule,
    ],
    gradientNorm: [
      at('get_grad_norm_fp32', `${core}optimizer/clip_grads.py`, 101, 'grad_norm, _ = multi_tensor_applier('),
      at('get_grad_norm', optimizer, 214, 'total_norm = get_grad_norm_fp32('),
      at('step', optimizer, 1163, 'grad_norm = self.get_grad_norm()'),
      ...outer.optimizerStep,
    ],
    expAvg: states(383, 'self._initialize_state(param, "exp_avg", zero_buffer=True)'),
    expAvgSq: states(384, 'self._initialize_state(param, "exp_avg_sq", zero_buffer=True)'),
    checkpointGather: [
      at('get_parameter_state_dp_zero', `${core}optimizer/distrib_optimizer.py`, 1093, 'recv_tensors = [torch.zeros('),
      at(
        'sharded_param_state_dp_zero',
        `${core}optimizer/distrib_optimizer.py`,
        1204,
        'param_state_data = self.get_parameter_state_dp_zero(use_gloo_comm=False)',
      ),
      at(
        'sharded_state_dict',
        `${core}optimizer/distrib_optimizer.py`,
        1171,
        'param_state = self.sharded_param_state_dp_zero(',
      ),
      at('sharded_state_dict', optimizer, 1301, 'sharded_state_dict = optimizer.sharded_state_dict('),
      ...outer.saveCheckpoint,
    ],
  };
}
