/** The verdict of an OOM entry of a trace, with what its message and its run add. */
import type { Counterfactual, PeakAccounting, Verdict } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import type { ExpandableConstraint } from '../lint/expandable-constraint.js';
import { liveSites } from '../state/live/live-sites.js';
import { account } from './accounting.js';
import { applyCounterfactual } from './apply-counterfactual.js';
import type { Judged } from './combine.js';
import { EvidenceLog } from './facts.js';
import type { TracedFailure } from './failures.js';
import { judgeHint } from './hint.js';
import { conclude, finish, shorten } from './judge-message.js';
import { liveComponents } from './live-components.js';

/** Answers of other topics about the same OOM; each reads the whole trace once more. */
export interface Deeper {
  /** The largest difference to the estimate, in words. */
  readonly surprise: string | null;
  /** What the allocator model answers; null where the trace is too long. */
  readonly counterfactual: Counterfactual | null;
}

export async function judgeTraced(
  store: Store,
  { oom, message, facts, rank }: TracedFailure,
  judged: Judged,
  constraint: ExpandableConstraint | null,
  peak: PeakAccounting | null,
  /** Null for a rank whose trace is not read again. */
  deeper: Deeper | null,
): Promise<Verdict> {
  const evidence = new EvidenceLog();
  const site = facts.requestSite === null ? '' : ` in ${facts.requestSite}`;
  const free = facts.deviceFree === null ? '' : `; ${formatBytes(facts.deviceFree.bytes)} free on the device`;
  evidence.add(
    `asked ${formatBytes(oom.requestedBytes)} (${formatCount(oom.requestedBytes)} bytes)${site}${free}`,
    oom.source,
    { about: 'request' },
  );
  if (message !== undefined) evidence.add(shorten(message.text), message.place, { about: 'message' });
  const firstEntry = evidence.entries.length;
  if (oom.freedAfterOom)
    evidence.add(
      'the dump was written after the exception had freed memory: this is the state at the OOM, walked back',
      oom.source,
    );
  evidence.add(
    oom.expandableSegments
      ? "expandable segments were on already, so PyTorch's hint to set them does not apply"
      : 'expandable segments were off',
    oom.source,
    oom.hasSettings ? { query: { name: 'snapshot.settings', params: { snapshot_id: oom.snapshotId } } } : {},
  );
  if (deeper?.surprise != null) evidence.add(`against theory: ${deeper.surprise}`, oom.source);
  const live = { snapshot_id: oom.snapshotId, device: oom.device, at_seq: oom.seq - 1 };
  const top = (await liveSites(store, live)).slice(0, 3).map((one) => `${formatBytes(one.bytes)} ${one.site}`);
  if (top.length > 0)
    evidence.add(`largest live then: ${top.join('; ')}`, oom.source, {
      query: {
        name: 'finding.live_stacks',
        params: live,
      },
    });
  rank?.addEvidence(evidence, facts.total, 'snapshot');
  evidence.mark(firstEntry, 'context');
  const verdict = conclude(facts, judged, evidence);
  const accounting = account(facts, oom.parts);
  const hint = judgeHint(facts, verdict.cause, constraint);
  const withAccounting = {
    ...verdict,
    accounting_total: accounting.total,
    accounting: accounting.parts,
    accounting_from: accounting.from,
    accounting_peak: peak,
    // Of many ranks only the first are shown.
    components: deeper === null ? null : await liveComponents(store, oom.snapshotId, oom.device, 'oom', oom.seq - 1),
    hint,
  };
  const adjusted =
    deeper?.counterfactual == null
      ? withAccounting
      : applyCounterfactual(withAccounting, deeper.counterfactual, oom.source);
  return finish(adjusted, constraint);
}
