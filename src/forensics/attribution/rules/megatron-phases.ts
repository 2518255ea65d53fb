import type { FramePattern, PhaseRule } from '../rule.js';

export const MEGATRON_PHASES: readonly PhaseRule[] = [];

export const MEGATRON_RECOMPUTE: readonly FramePattern[] = [{ function: 'placeholder' }];
