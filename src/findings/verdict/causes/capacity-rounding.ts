/**
 * `roundup_power2_divisions` makes blocks larger than requested. Where that excess alone is what is missing, the
 * setting is the cause.
 */
import { formatBytes } from '../../../model/units.js';
import type { EvidenceLog, OomFacts, Sums } from '../facts.js';
import type { CapacityDetail } from './capacity-detail.js';

export function roundingOf(facts: OomFacts, sum: Sums, evidence: EvidenceLog): CapacityDetail | null {
  const waste = facts.roundingWaste ?? null;
  if (waste === null || waste.bytes < sum.shortBytes) return null;
  evidence.add(
    `${formatBytes(waste.bytes)} of what is live was never asked for: roundup_power2_divisions rounded the blocks up`,
    waste.source,
  );
  return {
    detail: 'rounding',
    summary: `roundup_power2_divisions takes ${formatBytes(waste.bytes)}; without that rounding the request fits`,
    next: ['use more divisions, or drop roundup_power2_divisions: then blocks are rounded to 512 bytes only'],
    numbers: { rounding_waste_bytes: waste.bytes },
  };
}
