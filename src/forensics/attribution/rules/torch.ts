import type { AttributionRule } from '../rule.js';

export const TORCH_OWNERS: readonly AttributionRule[] = [];

export const TORCH_LAYERS: readonly AttributionRule[] = [];
