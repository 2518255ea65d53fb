/**
 * PyTorch ends every OOM message with the same advice, `expandable_segments:True` (before 2.2 `max_split_size_mb`),
 * whatever figures it printed. Here the advice is checked against those figures and the run's configuration.
 */
import { placeText } from '../../model/place.js';
import type { HintResult } from '../../model/results/common.js';
import { formatBytes } from '../../model/units.js';
import type { Cause } from '../../model/vocabulary.js';
import type { ExpandableConstraint } from '../lint/expandable-constraint.js';
import type { Step } from './causes/words.js';
import { active, budget, type OomFacts } from './facts.js';

/** Null where no caching allocator ran out, or there is too little evidence to judge its advice. */
export function judgeHint(facts: OomFacts, cause: Cause, constraint: ExpandableConstraint | null): HintResult | null {
  if (cause === 'host_oom' || cause === 'not_oom' || facts.request === null) return null;
  if (facts.allocator?.expandableSegments === true)
    return {
      verdict: 'already_on',
      text: "PyTorch's hint does not apply: expandable segments were on already",
      source: placeText(facts.allocator.source),
    };
  const live = active(facts);
  const limit = budget(facts);
  const { reserved } = facts;
  if (cause === 'graph_pools')
    return {
      verdict: 'cannot_explain',
      text: "PyTorch's hint does not help: what is free lies in private pools, which the setting leaves as they are",
      source: placeText((facts.privatePoolFree ?? facts.request).source),
    };
  if (reserved !== null && live !== null && limit !== null && cause !== 'fragmentation') {
    const idle = Math.max(0, reserved.bytes - live.bytes);
    const need = facts.requestAtLeastBytes;
    if (live.bytes + need <= limit.bytes) return null;
    const share = reserved.bytes === 0 ? 0 : (100 * idle) / reserved.bytes;
    return {
      verdict: 'cannot_explain',
      text: `PyTorch's hint does not help: ${formatBytes(idle)} reserved but unallocated (${share.toFixed(share < 10 ? 1 : 0)} %) cannot serve the request`,
      source: placeText(reserved.source),
    };
  }
  if (cause !== 'fragmentation') return null;
  if (constraint !== null)
    return {
      verdict: 'forbidden',
      text: `PyTorch's hint (expandable_segments:True) is right, but not with this configuration: ${constraint.text}`,
      source: constraint.source,
    };
  if (facts.allocator === null)
    return {
      verdict: 'unknown',
      text: "PyTorch's hint (expandable_segments:True) applies if they are off; nothing that was read says whether",
      source: placeText((reserved ?? facts.request).source),
    };
  return {
    verdict: 'applies',
    text: "PyTorch's hint (expandable_segments:True) is right here",
    source: placeText(facts.allocator.source),
  };
}

/** The steps with what the configuration forbids taken out of them, whichever verdict gave them. */
export function allowedAdvice(steps: readonly Step[], constraint: ExpandableConstraint | null): string[] {
  return steps.map(({ text, isExpandable, orExpandable }) => {
    if (constraint === null) return orExpandable === undefined ? text : `${text}; ${orExpandable}`;
    return isExpandable === true
      ? `expandable_segments:True would help, but ${constraint.text} (${constraint.source})`
      : text;
  });
}
