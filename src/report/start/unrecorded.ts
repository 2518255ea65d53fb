import type { VerdictResult } from '../../model/results/common.js';

/** A snapshot without an OOM entry: an OOM that it does not record may have occurred. */
export function isUnrecorded({ confidence, evidence }: VerdictResult): boolean {
  return confidence === 'low' && evidence.some(({ kind }) => kind === 'peak');
}
