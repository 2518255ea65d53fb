/**
 * A verdict from the kind of a failure line and, at most, its words: such lines lack figures of the caching
 * allocator.
 */
import type { Cause, CauseDetail, Confidence } from '../../../model/vocabulary.js';
import type { CaptureId } from '../captures.js';

export interface KindVerdict {
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly confidence: Confidence;
  readonly summary: string;
  readonly missing: readonly string[];
  readonly next: readonly string[];
  /** The one capture that would supply what is missing; absent if nothing is missing. */
  readonly capture?: CaptureId;
}
