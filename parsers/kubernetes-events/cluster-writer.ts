import { envFinding } from '../../src/knowledge/env-keys.js';
import { type KeptFinding, plainPlace } from '../../src/model/log-rows.js';
import type { RowSink } from '../../src/model/parser.js';
import { BINARY_UNITS } from '../../src/model/units.js';
import type { IncidentKind } from '../../src/model/vocabulary.js';
import { parseClockTime } from '../../src/text/clock-text.js';
import { gaugeFigure } from '../../src/text/gauge-figure.js';
import { Oddities } from '../../src/text/oddities.js';
import { plainIncident } from '../../src/text/plain-incident.js';
import { ruleOf, WAITS } from './event-rules.js';

export interface Place {
  readonly line: number;
  readonly offset: number;
}

/** An event of the cluster, whatever it was written in. */
export interface ClusterEvent {
  readonly reason: string;
  readonly message: string;
  /** `pod/trainer-0`. */
  readonly object: string;
  /** Node it is about, or that reported it. */
  readonly host: string | null;
  /** As written, with its zone; undefined in tables, which print ages. */
  readonly timeText?: string | undefined;
  readonly count?: number | undefined;
}

/** How a container ended. */
export interface Termination {
  readonly container: string;
  readonly reason: string;
  readonly exitCode: number | null;
  readonly message?: string | undefined;
  readonly finished?: string | undefined;
}

/** Where a pod runs, and which it is. */
export interface PodPlace {
  readonly pod: string;
  readonly host: string | null;
  readonly started?: string | undefined;
}

/** Bounds memory too: only objects that yield rows are kept. */
const MOST_ROWS = 200_000;
const MOST_WORD = 2048;
/** Reasons of a container that never ran. Upstream: kubelet pkg/kubelet/kuberuntime, images/types.go. */
const NEVER_RAN =
  /^(?:ContainerCannotRun|StartError|RunContainerError|CreateContainerError|CreateContainerConfigError|InvalidImageName|ErrImagePull|ImagePullBackOff|ErrImageNeverPull)$/;

/** Turns events and pods into rows. One per file. */
export class ClusterWriter {
  /** Events and pods that were understood, whether they made a row or not. */
  objects = 0;
  readonly oddities = new Oddities();
  private rows = 0;
  private dropped = 0;
  private readonly sink: RowSink;
  private readonly format: string;

  constructor(sink: RowSink, format: string) {
    this.sink = sink;
    this.format = format;
  }

  event(event: ClusterEvent, place: Place): void {
    this.objects += 1;
    const { reason, message, object, host, timeText, count } = event;
    const about = `${reason} ${object}: ${message}${count !== undefined && count > 1 ? ` (x${count})` : ''}`;
    if (WAITS.test(reason)) {
      const name = 'kubernetes.failed_scheduling';
      this.row({ row: 'value', name, value: null, unit: null, text: about.slice(0, MOST_WORD) }, place, host, timeText);
      return;
    }
    const rule = ruleOf(reason, message);
    if (rule === null) return;
    const pid = /\bpid: (\d{1,10})\b|\bKill(?:ed)? process (\d{1,10})\b/.exec(message);
    this.incident(rule.kind, rule.id, about, place, host, timeText, {
      pid: pid === null ? null : Number(pid[1] ?? pid[2]),
    });
  }

  /** The state a container is in, or was in before it was started again. */
  terminated(pod: PodPlace, ended: Termination, place: Place): void {
    const { container, reason, exitCode, message, finished } = ended;
    const kind = kindOfTermination(reason, exitCode);
    if (kind === null) return;
    const code = exitCode === null ? '' : `, exit code ${exitCode}`;
    const text = `container ${pod.pod}/${container} terminated: ${reason === '' ? 'no reason' : reason}${code}${message === undefined ? '' : `: ${message}`}`;
    this.incident(kind, 'kubernetes.terminated', text, place, pod.host, finished, { exitCode });
  }

  waiting(pod: PodPlace, container: string, reason: string, message: string, place: Place): void {
    if (!NEVER_RAN.test(reason)) return;
    const text = `container ${pod.pod}/${container} waiting: ${reason}: ${message}`;
    this.incident('config_error', 'kubernetes.waiting', text, place, pod.host, pod.started, {});
  }

  /** Why a pod as a whole failed: the same words as an event's. */
  podFailed(pod: PodPlace, reason: string, message: string, place: Place): void {
    const text = `pod ${pod.pod} failed: ${reason}: ${message}`;
    const rule = ruleOf(reason, message);
    const isNode = /^(?:NodeLost|NodeShutdown|NodeAffinity|Terminated|Shutdown)$/.test(reason);
    if (rule === null && !isNode) return;
    const kind = rule?.kind ?? (reason === 'NodeLost' ? 'hardware' : 'other');
    this.incident(kind, 'kubernetes.pod-failed', text, place, pod.host, undefined, {});
  }

  /** What a container may use of its host, and what it asked for. */
  resources(pod: PodPlace, container: string, limits: Iterable<readonly [string, unknown]>, place: Place): void {
    const process = `${pod.pod}/${container}`;
    for (const [name, value] of limits) {
      if (name === 'memory') {
        const limit = parseQuantity(value);
        const gauge =
          limit === null ? null : gaugeFigure('host_limit', limit.text, limit.unit, limit.unitBytes, { process });
        if (gauge !== null) this.row({ ...gauge, precisionBytes: 0 }, place, pod.host, pod.started);
      } else if (/^(?:nvidia|amd)\.com\/[\w.-]{1,60}$/.test(name) && /^\d{1,4}$/.test(String(value))) {
        const key = `kubernetes.devices[container=${process},resource=${name}]`;
        this.row({ row: 'value', name: key, value: Number(value), unit: 'count' }, place, pod.host, pod.started);
      }
    }
  }

  /** A volume in memory: `/dev/shm`, mostly. Its contents count towards the limits of the containers. */
  memoryVolume(pod: PodPlace, volume: string, limit: unknown, place: Place): void {
    const size = parseQuantity(limit);
    if (size === null) return;
    const name = `kubernetes.memory_volume[pod=${pod.pod},volume=${volume}]`;
    const value = Math.round(Number(size.text) * size.unitBytes);
    this.row({ row: 'value', name, value, unit: 'bytes' }, place, pod.host, pod.started);
  }

  restarts(pod: PodPlace, container: string, count: number, place: Place): void {
    if (!(count > 0) || !Number.isSafeInteger(count)) return;
    const name = `kubernetes.restarts[container=${pod.pod}/${container}]`;
    this.row({ row: 'value', name, value: count, unit: 'count' }, place, pod.host, pod.started);
  }

  /** Only variables that matter to memory or performance; everything else, secrets above all, is dropped unread. */
  env(pod: PodPlace, name: string, value: string, place: Place): void {
    const finding = envFinding(name, value, 'script');
    if (finding !== null) this.row(finding, place, pod.host, pod.started);
  }

  end(): void {
    if (this.dropped === 0) return;
    const text = `more than ${MOST_ROWS} rows; the rest was left out`;
    this.sink.note({ kind: 'kubernetes_many_rows', severity: 'warning', text, count: this.dropped });
  }

  private incident(
    kind: IncidentKind,
    grammar: string,
    text: string,
    { line, offset }: Place,
    host: string | null,
    timeText: string | undefined,
    more: { readonly pid?: number | null; readonly exitCode?: number | null },
  ): void {
    if (!this.mayAdd()) return;
    const timeUs = parseClockTime(timeText ?? '')?.us ?? null;
    const time = { timeText: timeUs === null ? null : (timeText ?? null), timeUs };
    this.sink.incident(plainIncident({ kind, grammar, text, line, offset, host, ...time, ...more }));
  }

  private row(finding: KeptFinding, { line, offset }: Place, host: string | null, timeText: string | undefined): void {
    if (!this.mayAdd()) return;
    const timeUs = parseClockTime(timeText ?? '')?.us ?? null;
    this.sink.logRow(finding, plainPlace({ line, offset, host, timeUs, format: this.format }));
  }

  private mayAdd(): boolean {
    this.rows += 1;
    if (this.rows > MOST_ROWS) this.dropped += 1;
    return this.rows <= MOST_ROWS;
  }
}

/** Null: it ended well. Exit code 137 alone is a SIGKILL, which has many senders. */
function kindOfTermination(reason: string, exitCode: number | null): IncidentKind | null {
  if (reason === 'OOMKilled') return 'host_oom';
  if (reason === 'DeadlineExceeded') return 'time_limit';
  if (NEVER_RAN.test(reason)) return 'config_error';
  return exitCode === null || exitCode === 0 ? null : 'other';
}

/** `Ki` is 1024, `k` 1000; of the others the same letter is in both. */
const SUFFIXES = new Map(
  Object.entries(BINARY_UNITS).flatMap(([letter, bytes], i): [string, number][] => [
    [`${letter}i`, bytes],
    [letter === 'K' ? 'k' : letter, 1000 ** (i + 1)],
  ]),
);

interface Quantity {
  /** As written; a power of ten is applied. */
  readonly text: string;
  readonly unit: string;
  readonly unitBytes: number;
}

/**
 * `512Gi` is binary, `512G` and `5e11` are decimal. Null if the value is not an amount of memory. Upstream:
 * apimachinery `pkg/api/resource/quantity.go`.
 */
function parseQuantity(value: unknown): Quantity | null {
  const match = /^(\d{1,16}(?:\.\d{1,9})?)(?:[eE](\d{1,2}))?(Ki|Mi|Gi|Ti|Pi|Ei|[kMGTPE])?$/.exec(String(value).trim());
  if (match === null || (typeof value !== 'string' && typeof value !== 'number')) return null;
  const [, number = '', power, suffix = ''] = match;
  const text = power === undefined ? number : String(Number(number) * 10 ** Number(power));
  return { text, unit: suffix === '' ? 'bytes' : suffix, unitBytes: SUFFIXES.get(suffix) ?? 1 };
}
