import { kindOfXid } from '../../src/model/program-xids.js';
import type { IncidentKind } from '../../src/model/vocabulary.js';

export interface EventRule {
  /** Grammar of the incident. */
  readonly id: string;
  readonly reason: RegExp;
  readonly message?: RegExp;
  readonly kind: IncidentKind | ((message: string) => IncidentKind);
  readonly source: string;
}

const XID = /\bXid\b(?: errors?| code)?(?: ?\([^)\n]{1,60}\))?[:= ]{0,4}(\d{1,4})\b/i;

/**
 * Events that report a failure; the first match wins. Consequences (`BackOff`, `Killing`, `BackoffLimitExceeded`) and
 * retried operations (`FailedMount`, `Unhealthy`) are not failures.
 */
export const EVENT_RULES: readonly EventRule[] = [
  {
    id: 'kubernetes.oom-event',
    reason: /^(?:OOMKilling|SystemOOM|OOMKilled|ContainerOOMKilled)$/,
    kind: 'host_oom',
    source: 'kubelet pkg/kubelet/oom/oom_watcher_linux.go; node-problem-detector config/kernel-monitor.json',
  },
  {
    id: 'kubernetes.evicted-shm',
    reason: /^Evicted$/,
    message: /Usage of EmptyDir volume "[^"\n]{0,60}shm[^"\n]{0,60}" exceeds/i,
    kind: 'shm_oom',
    source: 'kubelet pkg/kubelet/eviction/helpers.go, emptyDirMessageFmt',
  },
  {
    id: 'kubernetes.evicted',
    reason: /^Evicted$/,
    kind: (message) => (/low on resource: memory|MemoryPressure|memory usage/i.test(message) ? 'host_oom' : 'other'),
    source: 'kubelet pkg/kubelet/eviction/helpers.go, nodeLowMessageFmt',
  },
  {
    id: 'kubernetes.xid',
    reason: /./,
    message: XID,
    kind: (message) => kindOfXid(Number(XID.exec(message)?.[1])),
    source: 'node-problem-detector with a rule for NVRM: Xid; the rule is the cluster’s own',
  },
  {
    id: 'kubernetes.node',
    reason: /^(?:NodeNotReady|NodeUnreachable|Rebooted)$/,
    kind: 'hardware',
    source: 'kube-controller-manager pkg/controller/nodelifecycle; kubelet pkg/kubelet/kubelet_node_status.go',
  },
  {
    id: 'kubernetes.device-condition',
    reason: /^(?:GPU|Gpu|Nvidia|NVIDIA|NVLink|Nvlink|IBLink|Infiniband)\w{0,60}$/,
    message: /fail|error|unhealthy|missing|fallen|degraded|\bdown\b|\blost\b|flap/i,
    kind: 'hardware',
    source: 'node-problem-detector plugins of clouds [mem]',
  },
  {
    id: 'kubernetes.deadline',
    reason: /^DeadlineExceeded$/,
    kind: 'time_limit',
    source: 'kubelet pkg/kubelet/active_deadline.go; batch/v1 Job activeDeadlineSeconds',
  },
  {
    id: 'kubernetes.preempted',
    reason: /^(?:Preempted|Preempting)$/,
    kind: 'preempted',
    source: 'kube-scheduler pkg/scheduler/framework/preemption; kubelet pkg/kubelet/preemption',
  },
  {
    id: 'kubernetes.admission',
    reason: /^(?:UnexpectedAdmissionError|OutOf(?:cpu|memory|pods|nvidia\.com\/gpu))$/,
    kind: (message) => (/unhealthy/i.test(message) ? 'hardware' : 'other'),
    source: 'kubelet pkg/kubelet/lifecycle/predicate.go',
  },
  {
    id: 'kubernetes.image',
    reason: /^(?:Failed|InspectFailed|ErrImageNeverPull)$/,
    message: /ErrImagePull|ImagePullBackOff|InvalidImageName|CreateContainerConfigError|Failed to pull image/,
    kind: 'config_error',
    source: 'kubelet pkg/kubelet/images/image_manager.go',
  },
];

/** Reasons of a pod that waits for resources: not a failure, but worth reporting. */
export const WAITS = /^FailedScheduling$/;

/** Words of which an event has one if any rule, or {@link WAITS}, can match it. */
export const EVENT_WORDS =
  /OOM|Evicted|[Xx][Ii][Dd]|NodeNotReady|NodeUnreachable|Rebooted|GPU|Gpu|Nvidia|NVIDIA|N[Vv][Ll]ink|IBLink|Infiniband|DeadlineExceeded|Preempt|AdmissionError|OutOf|ErrImage|ImagePull|InvalidImage|CreateContainerConfig|pull image|FailedScheduling/;

export function ruleOf(reason: string, message: string): { readonly id: string; readonly kind: IncidentKind } | null {
  for (const rule of EVENT_RULES) {
    if (!rule.reason.test(reason) || (rule.message !== undefined && !rule.message.test(message))) continue;
    return { id: rule.id, kind: typeof rule.kind === 'string' ? rule.kind : rule.kind(message) };
  }
  return null;
}
