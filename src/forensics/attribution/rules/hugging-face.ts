import type { AttributionRule } from '../rule.js';

export const HUGGING_FACE_OWNERS: readonly AttributionRule[] = [];

export const HUGGING_FACE_LAYERS: readonly AttributionRule[] = [];
