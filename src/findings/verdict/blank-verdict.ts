/** Default values of a verdict's optional parts. */
import type { Verdict } from '../../model/results/common.js';

export const BLANK = {
  basis: null,
  reason: null,
  contributors: [],
  tests: [],
  captures: [],
  combination: [],
  replay: null,
  what_if: [],
  accounting_total: null,
  accounting: [],
  accounting_from: null,
  accounting_peak: null,
  components: null,
  hint: null,
  commands: [],
} as const satisfies Partial<Verdict>;
