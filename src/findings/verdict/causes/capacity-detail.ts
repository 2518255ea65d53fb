/** What a detail adds to the bare sum. */
import type { CauseDetail, Confidence } from '../../../model/vocabulary.js';

export interface CapacityDetail {
  readonly detail: CauseDetail | null;
  readonly summary: string;
  readonly next: readonly string[];
  readonly numbers: Readonly<Record<string, number>>;
  readonly confidence?: Confidence;
}
