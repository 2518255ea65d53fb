import type { AttributionRule } from '../rule.js';

export const MEGATRON_OWNERS: readonly AttributionRule[] = [];

export const MEGATRON_LAYERS: readonly AttributionRule[] = [];
