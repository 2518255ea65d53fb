import type { AttributionRule } from '../rule.js';

export const BRIDGE_OWNERS: readonly AttributionRule[] = [];

export const BRIDGE_LAYERS: readonly AttributionRule[] = [];
