/** Groups of ranks that cross the border of an NVL72 domain. */

import { asNumber } from '../../derive/settings/values.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { groupBy } from '../../model/group-by.js';
import type { RankPosition } from '../../model/results/log.js';
import { formatCount } from '../../model/units.js';
import type { SymptomEvidence } from './evidence.js';
import { CAPTURE } from './speed.js';
import { confirmed, refuted, type Symptom, symptom, untested } from './symptom.js';
import { percent } from './words.js';

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

export const S28: Symptom = symptom('S28', (evidence) => {
  const { layout, world_size: world, view, facts } = evidence;
  const domainSize = view.env('NVLINK_DOMAIN_SIZE');
  const domain = asNumber(domainSize.value) ?? (NVL72.test(facts.device.name ?? '') ? DOMAIN : null);
  if (domain !== DOMAIN || world === null || world <= domain || layout === null || !isMixed(evidence)) return null;
  const most = mostExposed(evidence);
  const crossing = straddles(world, domain, (rank) => layout.position(rank));
  const isSlow = most !== null && most.share >= SLOW;
  const [first] = crossing;
  const figures =
    most === null ? '' : `communication without overlapping computation takes ${percent(most.share)} of a step`;
  const order = `${formatCount(world)} ranks in the order ${layout.order}, domains of ${domain}`;
  if (first === undefined)
    return isSlow
      ? {
          seen: `${figures}; ${order}`,
          source: most.path,
          ...refuted('no group that fits into a domain crosses its border'),
        }
      : null;
  const [low, high] = [first.ranks[0]!, first.ranks.at(-1)!];
  const members = `${formatCount(crossing.length)} groups cross a border, e.g. the ${first.axis.toUpperCase()} group of ranks ${low} to ${high} (border at rank ${(Math.floor(low / domain) + 1) * domain})`;
  const seen = {
    seen: `${figures === '' ? '' : `${figures}; `}${members}`,
    source: most?.path ?? domainSize.explicit?.file ?? '',
  };
  if (isSlow) return { ...seen, ...confirmed(`${order}: ${members}`) };
  return most !== null && most.share < HIDDEN
    ? { ...seen, ...refuted(`${figures}: it costs nothing here`) }
    : { ...seen, ...untested(`${order}; whether the collectives are slow, a timeline would show it: ${CAPTURE}`) };
});

/** Data parallelism alone uses all links as they are. */
function isMixed({ parallel }: SymptomEvidence): boolean {
  return [parallel.tp, parallel.pp, parallel.cp, parallel.ep].some((size) => size !== null && size > 1);
}

function mostExposed({ timelines }: SymptomEvidence): { readonly share: number; readonly path: string } | null {
  const shares = timelines
    .filter(({ steps }) => steps > 0)
    .map(({ path, collectives, window_ns }) => ({ path, share: collectives.exposed_ns / window_ns }));
  return shares.toSorted((a, b) => b.share - a.share)[0] ?? null;
}
