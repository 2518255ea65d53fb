import type { AttributionRule } from '../rule.js';

export const GENERIC: readonly AttributionRule[] = [];
