/** The verdict of an OOM entry of a trace, with what its message and its run add. */
import { sumOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import { type Figures, known, named } from '../../model/statement.js';
import type { Counterfactual, LiveComponents, Verdict } from '../../model/verdict.js';
import { COMPONENTS, type Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { type SiteGroup, topSites } from '../state/live/live-sites.js';
import type { StateKey } from '../trace/state-at.js';
import { applyCounterfactual } from './apply-counterfactual.js';
import type { Judged } from './combine.js';
import { EvidenceLog, type TracedOom } from './facts.js';
import { addFailingSite } from './failing-site.js';
import type { Failure } from './failures.js';
import { addMessage, conclude } from './judge-message.js';

/** Of the failures that are compared: answers of other topics about the same OOM. */
export interface Deeper {
  /** The largest difference to the estimate. */
  readonly surprise: Figures | null;
  /** What the allocator model answers; null where the trace is too long. */
  readonly counterfactual: Counterfactual | null;
  readonly components: LiveComponents | null;
}

/** Sites listed as live. */
const MOST_SITES = 3;

/** The state in which an allocation failed. */
export const beforeOom = ({
  snapshot_id,
  device,
  seq,
}: Pick<TracedOom, 'snapshot_id' | 'device' | 'seq'>): StateKey => ({
  ...{ snapshot_id, device },
  at_seq: seq - 1,
});

export function judgeTraced(
  { facts, context, site, sizes }: Failure,
  oom: TracedOom,
  judged: Judged,
  /** Live before the OOM. */
  sites: readonly SiteGroup[],
  /** Null for a rank whose trace is not read again. */
  deeper: Deeper | null,
): Verdict {
  const { snapshot_id, seq } = oom;
  const { place, step_outcome: outcome } = facts;
  const evidence = new EvidenceLog();
  evidence.add('request', place, {
    numbers: known({ requested_bytes: oom.requested_bytes, device_free_bytes: facts.device_free_bytes }),
    names: named({ site: facts.site }),
    about: 'request',
  });
  addMessage(evidence, facts);
  addFailingSite(evidence, facts, site === null ? null : { ...site, place }, sizes);
  const firstEntry = evidence.entries.length;
  if (oom.entries - 1 > seq) evidence.add('dumped_later', place);
  evidence.add('expandable_segments', place, {
    names: { setting: oom.expandable_segments ? 'on' : 'off' },
    ...(oom.has_settings ? { query: { name: 'snapshot.settings', params: { snapshot_id } } } : {}),
  });
  if (deeper?.surprise != null) evidence.add('against_theory', place, deeper.surprise);
  addLiveSites(evidence, place, beforeOom(oom), sites);
  context?.addEvidence(evidence, facts, 'snapshot');
  evidence.mark(firstEntry, 'context');
  // Where it decides, the test of capacity names it. A step of another shape matters only to fragmentation.
  const isShown = outcome === 'unlike' ? judged.cause === 'fragmentation' : judged.reason !== 'whole_step';
  if (outcome !== null && isShown) {
    const { projected_bytes, limit_bytes, alike_share } = facts;
    evidence.add('whole_step', place, {
      numbers: known({ projected_bytes, limit_bytes, alike_share: alike_share ?? 0 }),
      names: { outcome },
      about: 'step',
    });
  }
  const verdict: Verdict = {
    ...conclude(facts, judged, evidence),
    // Of many ranks only the first are shown.
    components: deeper?.components ?? null,
  };
  return deeper?.counterfactual == null ? verdict : applyCounterfactual(verdict, deeper.counterfactual, place);
}

/** Of each state the call sites with the most live bytes. */
export const largestSites = (store: Store, states: readonly StateKey[]): Promise<SiteGroup[][]> =>
  topSites(store, states, MOST_SITES);

export function addLiveSites(log: EvidenceLog, place: Place, params: StateKey, sites: readonly SiteGroup[]): void {
  const items = sites.map(({ site, bytes, count }) => ({ name: site, numbers: { bytes, blocks: count } }));
  if (items.length > 0)
    log.add('live_sites', place, { items, query: { name: 'finding.live_stacks', params: { ...params } } });
}

/** Of each state; null where blocks are not labelled: an ingest was interrupted. */
export async function liveComponents(
  store: Store,
  states: readonly (StateKey & Pick<LiveComponents, 'moment'>)[],
): Promise<(LiveComponents | null)[]> {
  const keys = states.map(({ moment: _, ...key }) => key);
  const components = await store.allOf('verdict.components_at', keys);
  return components.map((rows, i) => {
    if (rows.some(({ component }) => component === null)) return null;
    const parts = rows.map(({ component, bytes }) => ({ component: component as Component, bytes }));
    parts.sort((a, b) => b.bytes - a.bytes || COMPONENTS.indexOf(a.component) - COMPONENTS.indexOf(b.component));
    return { moment: states[i]!.moment, total_bytes: sumOf(parts.map(({ bytes }) => bytes)), parts };
  });
}
