/** Events that report a failure: `src/knowledge/inputs/kubernetes-events.yaml`. */
import { loadData } from '../../src/knowledge/load-data.js';
import type { IncidentKind } from '../../src/model/vocabulary.js';
import { kindOfXid } from '../../src/text/program-xids.js';

interface RuleData {
  readonly id: string;
  readonly reason: string;
  readonly message?: string;
  readonly flags?: string;
  readonly kind: IncidentKind | 'xid';
}

const EVENT_RULES = (loadData('inputs/kubernetes-events') as readonly RuleData[]).map((rule) => ({
  ...rule,
  reason: new RegExp(rule.reason),
  message: new RegExp(rule.message ?? '', rule.flags),
}));

/** Reasons of a pod that waits for resources: not a failure, but worth reporting. */
export const WAITS = /^FailedScheduling$/;

/** Words of which an event has one if any rule, or {@link WAITS}, can match it. */
export const EVENT_WORDS =
  /OOM|Evicted|[Xx][Ii][Dd]|NodeNotReady|NodeUnreachable|Rebooted|GPU|Gpu|Nvidia|NVIDIA|N[Vv][Ll]ink|IBLink|Infiniband|DeadlineExceeded|Preempt|AdmissionError|OutOf|ErrImage|ImagePull|InvalidImage|CreateContainerConfig|pull image|FailedScheduling/;

export function ruleOf(reason: string, message: string): { readonly id: string; readonly kind: IncidentKind } | null {
  for (const rule of EVENT_RULES) {
    const match = rule.reason.test(reason) ? rule.message.exec(message) : null;
    if (match !== null) return { id: rule.id, kind: rule.kind === 'xid' ? kindOfXid(Number(match[1])) : rule.kind };
  }
  return null;
}
