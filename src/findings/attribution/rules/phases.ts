/**
 * Phases of training, told by any frame of a stack. A stack is in several at once (an evaluation runs forward passes, a recomputation runs one inside backward): the
 * one that comes first here is the one to say.
 */
import type { Phase } from '../../../model/log-rows.js';
import type { FramePattern, PhaseRule } from '../match/rule.js';
import { MEGATRON_PHASES, MEGATRON_RECOMPUTE } from './megatron-phases.js';
import { TORCH_PHASES, TORCH_RECOMPUTE } from './torch-phases.js';

const PRECEDENCE: readonly Phase[] = [
  'eval',
  'graph_capture',
  'checkpoint_save',
  'checkpoint_load',
  'optimizer_build',
  'param_gather',
  'grad_finalize',
  'optimizer_step',
  'backward',
  'forward',
  'model_build',
  'logging',
];

export const PHASE_RULES: readonly PhaseRule[] = PRECEDENCE.flatMap((phase) =>
  [...MEGATRON_PHASES, ...TORCH_PHASES].filter((rule) => rule.phase === phase),
);

/** Frames below which a forward pass runs a second time, for backward. Everything it keeps is gone when the layer's backward is done. */
export const RECOMPUTE_FRAMES: readonly FramePattern[] = [...MEGATRON_RECOMPUTE, ...TORCH_RECOMPUTE];

/**
 * Between such a frame and a checkpoint further out it is backward again that runs: a reentrant checkpoint recomputes, then calls the autograd engine from the same function.
 * Upstream: torch `autograd/__init__.py` `backward`, `autograd/graph.py` `_engine_run_backward`.
 */
export const ENGINE_FRAMES: readonly FramePattern[] = [
  { function: '_engine_run_backward', file: 'torch/autograd/graph.py' },
  { function: 'backward', file: 'torch/autograd/__init__.py' },
];
