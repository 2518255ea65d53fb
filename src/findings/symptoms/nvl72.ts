/** Groups of ranks that cross the border of an NVL72 domain. */

import { asNumber } from '../../derive/settings/values.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { groupBy } from '../../model/group-by.js';
import { maxBy } from '../../model/lists.js';
import type { RankPosition } from '../../model/results/log.js';
import type { SymptomEvidence } from './evidence.js';
import type { SymptomRule } from './symptom.js';

const DOMAIN = threshold('symptoms_nvl72.domain');
/** Systems whose racks are such domains. */
const NVL72 = /gb[23]00|nvl72/i;
const SLOW = threshold('symptoms_nvl72.slow_share');
const HIDDEN = threshold('symptoms_nvl72.hidden_share');

type Axis = 'tp' | 'cp' | 'dp' | 'ep';
/** Pipelines send little: their groups may cross. */
const AXES: readonly Axis[] = ['tp', 'cp', 'dp', 'ep'];

export interface Straddle {
  readonly axis: Axis;
  readonly ranks: readonly number[];
}

/**
 * Ranks are written in mixed radix: members of a group have equal distances, and removing the coordinate leaves the
 * group. Experts have axes of their own over the same ranks; positions contain only this one.
 */
function strideOf(axis: Axis, world: number, position: (rank: number) => RankPosition | null): number | null {
  for (let rank = 1; rank < world; rank++) if (position(rank)?.[axis] === 1) return rank;
  return null;
}

/** Groups that would fit into one domain and are in two; ranks are placed rack after rack. */
export function straddles(
  world: number,
  domain: number,
  position: (rank: number) => RankPosition | null,
): readonly Straddle[] {
  const straddling: Straddle[] = [];
  for (const axis of AXES) {
    const stride = strideOf(axis, world, position);
    // An axis of length 1 does not have groups.
    if (stride === null) continue;
    const ranks = Array.from({ length: world }, (_, rank) => rank);
    const groups = groupBy(ranks, (rank) => rank - (position(rank)?.[axis] ?? 0) * stride);
    for (const group of groups.values()) {
      const [first, last] = [group[0]!, group.at(-1)!];
      if (group.length > 1 && last - first < domain && Math.floor(first / domain) !== Math.floor(last / domain))
        straddling.push({ axis, ranks: group });
    }
  }
  return straddling;
}

export const NVL72_RULES: Readonly<Record<string, SymptomRule>> = {
  S28: (evidence) => {
    const { layout, world_size: world, view, facts } = evidence;
    const domainSize = view.env('NVLINK_DOMAIN_SIZE');
    const domain = asNumber(domainSize.value) ?? (NVL72.test(facts.device.name ?? '') ? DOMAIN : null);
    if (domain !== DOMAIN || world === null || world <= domain || layout === null || !isMixed(evidence)) return null;
    const most = mostExposed(evidence);
    const crossing = straddles(world, domain, (rank) => layout.position(rank));
    const isSlow = most !== undefined && most.share >= SLOW;
    const [first] = crossing;
    if (first === undefined && !isSlow) return null;
    const [low, high] = [first?.ranks[0] ?? 0, first?.ranks.at(-1)];
    const isHidden = most !== undefined && most.share < HIDDEN;
    return {
      source: most?.path ?? domainSize.explicit?.file ?? '',
      answer: first === undefined ? 'none_crosses' : isSlow ? 'slow' : isHidden ? 'hidden' : 'unmeasured',
      figures: {
        ...{ exposed: most?.share, world, order: layout.order, domain },
        groups: first === undefined ? null : crossing.length,
        ...{ axis: first?.axis.toUpperCase(), low, high, border: (Math.floor(low / domain) + 1) * domain },
      },
    };
  },
};

/** Data parallelism alone uses all links as they are. */
function isMixed({ parallel }: SymptomEvidence): boolean {
  return [parallel.tp, parallel.pp, parallel.cp, parallel.ep].some((size) => size !== null && size > 1);
}

function mostExposed({ timelines }: SymptomEvidence) {
  const shares = timelines
    .filter(({ steps }) => steps > 0)
    .map(({ path, collectives, window_ns }) => ({ path, share: collectives.exposed_ns / window_ns }));
  return maxBy(shares, ({ share }) => share);
}
