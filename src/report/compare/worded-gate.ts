/** The sentences of a gate. */
import type { CompareCheck, GateResult, JudgedComparison } from '../../model/results/compare.js';
import { wordedComparison } from './worded-comparison.js';

interface Judged {
  readonly verdict: GateResult['verdict'];
  readonly checks: readonly CompareCheck[];
  readonly warnings: readonly string[];
}

export function wordedGate(
  comparison: JudgedComparison,
  { verdict, checks, warnings }: Judged,
  baseline: GateResult['baseline'],
): GateResult {
  const worded = wordedComparison({ ...comparison, verdict, checks });
  return { ...worded, schema: 'mbforensics/gate@1', baseline, warnings };
}

/** The line of a golden document that holds the figures of a check: one field a line, of the first run. */
export function baselineLines(text: string): Record<string, number> {
  const lines = text.split('\n');
  return Object.fromEntries(
    ['status', 'ranks', 'peaks', 'steps', 'series', 'config'].flatMap((field) => {
      const at = lines.findIndex((line) => line.trimStart().startsWith(`"${field}":`));
      return at < 0 ? [] : [[field, at + 1]];
    }),
  );
}

/** Which of these fields a check is of. */
export function fieldOf(name: string): string {
  if (name === 'contract') return 'config';
  if (name.startsWith('component:') || name === 'peak_active') return 'peaks';
  if (name.startsWith('peak_') || name === 'alloc_retries') return 'ranks';
  return name === 'status' ? 'status' : name === 'loss' ? 'series' : 'steps';
}
