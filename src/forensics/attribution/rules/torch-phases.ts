import type { FramePattern, PhaseRule } from '../rule.js';

export const TORCH_PHASES: readonly PhaseRule[] = [];

export const TORCH_RECOMPUTE: readonly FramePattern[] = [{ function: 'placeholder' }];
