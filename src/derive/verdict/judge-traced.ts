/** The verdict of an OOM entry of a trace, with what its message and its run add. */
import { BEFORE_TRACE } from '../../model/derived-tables.js';
import { sumOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import { type Figures, known, named } from '../../model/statement.js';
import type { Counterfactual, LiveComponents, Verdict } from '../../model/verdict.js';
import { COMPONENTS, type Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { liveSites } from '../state/live/live-sites.js';
import { deviceHistory } from '../trace/device-history.js';
import type { StateKey } from '../trace/state-at.js';
import { applyCounterfactual } from './apply-counterfactual.js';
import type { Judged } from './combine.js';
import { EvidenceLog, type TracedOom } from './facts.js';
import { addFailingSite } from './failing-site.js';
import type { Failure } from './failures.js';
import { addMessage, conclude } from './judge-message.js';

/** Answers of other topics about the same OOM; each reads the whole trace once more. */
export interface Deeper {
  /** The largest difference to the estimate. */
  readonly surprise: Figures | null;
  /** What the allocator model answers; null where the trace is too long. */
  readonly counterfactual: Counterfactual | null;
}

/** Sites listed as live at the OOM. */
const MOST_SITES = 3;

export async function judgeTraced(
  store: Store,
  { facts, context, site, sizes }: Failure,
  oom: TracedOom,
  judged: Judged,
  /** Null for a rank whose trace is not read again. */
  deeper: Deeper | null,
): Promise<Verdict> {
  const { snapshot_id, device, seq } = oom;
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
  await addLiveSites(store, evidence, place, { snapshot_id, device, at_seq: seq - 1 });
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
    components: deeper === null ? null : await liveComponents(store, snapshot_id, device, 'oom', seq - 1),
  };
  return deeper?.counterfactual == null ? verdict : applyCounterfactual(verdict, deeper.counterfactual, place);
}

/** The call sites with the most live bytes after an entry. */
export async function addLiveSites(store: Store, log: EvidenceLog, place: Place, params: StateKey): Promise<void> {
  const items = (await liveSites(store, params))
    .slice(0, MOST_SITES)
    .map(({ site, bytes, count }) => ({ name: site, numbers: { bytes, blocks: count } }));
  if (items.length > 0)
    log.add('live_sites', place, { items, query: { name: 'finding.live_stacks', params: { ...params } } });
}

/** After an entry; −1 is before the first. Null where blocks are not labelled: an ingest was interrupted. */
async function liveComponents(
  store: Store,
  snapshotId: number,
  device: number,
  moment: LiveComponents['moment'],
  seq: number,
): Promise<LiveComponents | null> {
  const rows = await store.all('verdict.components_at', { snapshot_id: snapshotId, device, at_seq: seq });
  if (rows.some(({ component }) => component === null)) return null;
  const parts = rows.map(({ component, bytes }) => ({ component: component as Component, bytes }));
  parts.sort((a, b) => b.bytes - a.bytes || COMPONENTS.indexOf(a.component) - COMPONENTS.indexOf(b.component));
  return { moment, total_bytes: sumOf(parts.map(({ bytes }) => bytes)), parts };
}

export async function componentsAtPeak(
  store: Store,
  snapshotId: number,
  device: number,
  hasTrace: boolean,
): Promise<LiveComponents | null> {
  const { seq } = (await deviceHistory(store, snapshotId, device)).peak;
  return liveComponents(store, snapshotId, device, hasTrace ? 'peak' : 'dump', seq ?? BEFORE_TRACE);
}
