import type { AttributionRule } from '../rule.js';

export const DEEPSPEED_OWNERS: readonly AttributionRule[] = [];

export const DEEPSPEED_LAYERS: readonly AttributionRule[] = [];
