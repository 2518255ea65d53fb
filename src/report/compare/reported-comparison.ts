/** What the reports of `compare` and of `gate` are made of. */
import type { CompareResult, CompareVerdict } from '../../model/results/compare.js';
import type { GateResult, GateVerdict } from '../../model/results/gate.js';

export interface ReportedComparison
  extends Omit<CompareResult, 'schema' | 'verdict'>,
    Partial<Pick<GateResult, 'places' | 'warned'>> {
  readonly schema: CompareResult['schema'] | GateResult['schema'];
  readonly verdict: CompareVerdict | GateVerdict;
}

/** The verb it is of. */
export function verbOf({ schema }: ReportedComparison): 'compare' | 'gate' {
  return schema === 'mbforensics/gate@1' ? 'gate' : 'compare';
}
