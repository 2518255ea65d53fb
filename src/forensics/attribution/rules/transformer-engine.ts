import type { AttributionRule } from '../rule.js';

export const TRANSFORMER_ENGINE_OWNERS: readonly AttributionRule[] = [];

export const TRANSFORMER_ENGINE_LAYERS: readonly AttributionRule[] = [];
