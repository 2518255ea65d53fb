import type { AttributionRule } from '../rule.js';

export const FSDP_OWNERS: readonly AttributionRule[] = [];

export const FSDP_LAYERS: readonly AttributionRule[] = [];
