import { listOf, member, memberAt, textOf } from '../../src/text/json-items.js';
import type { ClusterWriter, Place, PodPlace } from './cluster-writer.js';

const MOST_CONTAINERS = 256;
const MOST_ENV = 4096;
const MOST_WORD = 2048;

/**
 * An object of the API as kubectl prints it in JSON or YAML: an Event (of `v1` or `events.k8s.io`) or a Pod. False for
 * any other. Upstream: k8s.io/api core/v1 and events/v1, types.go.
 */
export function takeObject(value: unknown, place: Place, writer: ClusterWriter): boolean {
  const kind = member(value, 'kind');
  if (kind === 'Event' || (kind === undefined && member(value, 'involvedObject') !== undefined)) {
    takeEvent(value, place, writer);
    return true;
  }
  if (kind !== 'Pod') return false;
  takePod(value, place, writer);
  return true;
}

function takeEvent(event: unknown, place: Place, writer: ClusterWriter): void {
  const object = member(event, 'involvedObject') ?? member(event, 'regarding');
  const kind = word(member(object, 'kind')) ?? '';
  const name = word(member(object, 'name')) ?? '';
  const reporter =
    word(memberAt(event, 'source', 'host')) ??
    word(memberAt(event, 'deprecatedSource', 'host')) ??
    // The kubelet reports by the name of its node.
    (member(event, 'reportingComponent') === 'kubelet' || member(event, 'reportingController') === 'kubelet'
      ? word(member(event, 'reportingInstance'))
      : undefined);
  const count = member(event, 'count') ?? member(event, 'deprecatedCount') ?? memberAt(event, 'series', 'count');
  writer.event(
    {
      reason: word(member(event, 'reason')) ?? '',
      message: word(member(event, 'message')) ?? word(member(event, 'note')) ?? '',
      object: `${kind.toLowerCase()}/${name}`,
      host: kind === 'Node' ? name : (reporter ?? null),
      // The first of several: what came before what is the question.
      timeText: ['firstTimestamp', 'deprecatedFirstTimestamp', 'eventTime', 'lastTimestamp', 'deprecatedLastTimestamp']
        .map((key) => word(member(event, key)))
        .find((text) => text !== undefined),
      count: typeof count === 'number' ? count : undefined,
    },
    place,
  );
}

function takePod(value: unknown, place: Place, writer: ClusterWriter): void {
  writer.objects += 1;
  const spec = member(value, 'spec');
  const status = member(value, 'status');
  const pod: PodPlace = {
    pod: word(memberAt(value, 'metadata', 'name')) ?? word(memberAt(value, 'metadata', 'generateName')) ?? 'pod',
    host: word(member(spec, 'nodeName')) ?? null,
    started: word(member(status, 'startTime')),
  };
  for (const key of ['initContainers', 'containers']) {
    for (const container of listOf(member(spec, key)).slice(0, MOST_CONTAINERS))
      takeSpec(container, pod, place, writer);
  }
  for (const volume of listOf(member(spec, 'volumes')).slice(0, MOST_CONTAINERS)) {
    const directory = member(volume, 'emptyDir');
    if (member(directory, 'medium') !== 'Memory') continue;
    writer.memoryVolume(pod, word(member(volume, 'name')) ?? '', member(directory, 'sizeLimit'), place);
  }
  const reason = word(member(status, 'reason'));
  if (reason !== undefined) writer.podFailed(pod, reason, word(member(status, 'message')) ?? '', place);
  for (const key of ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses']) {
    for (const container of listOf(member(status, key)).slice(0, MOST_CONTAINERS))
      takeStatus(container, pod, place, writer);
  }
}

function takeSpec(container: unknown, pod: PodPlace, place: Place, writer: ClusterWriter): void {
  const name = word(member(container, 'name')) ?? '';
  const limits = memberAt(container, 'resources', 'limits');
  if (typeof limits === 'object' && limits !== null)
    writer.resources(pod, name, Object.entries(limits).slice(0, 64), place);
  for (const variable of listOf(member(container, 'env')).slice(0, MOST_ENV)) {
    const [key, value] = [textOf(member(variable, 'name')), member(variable, 'value')];
    // Others are read from secrets and the like, whose contents are not here.
    if (key !== undefined && typeof value === 'string') writer.env(pod, key, value, place);
  }
}

function takeStatus(container: unknown, pod: PodPlace, place: Place, writer: ClusterWriter): void {
  const name = word(member(container, 'name')) ?? '';
  const restarts = member(container, 'restartCount');
  if (typeof restarts === 'number') writer.restarts(pod, name, restarts, place);
  for (const state of ['lastState', 'state']) {
    const ended = memberAt(container, state, 'terminated');
    if (ended !== undefined && ended !== null) {
      const exitCode = member(ended, 'exitCode');
      writer.terminated(
        pod,
        {
          container: name,
          reason: word(member(ended, 'reason')) ?? '',
          exitCode: typeof exitCode === 'number' && Number.isSafeInteger(exitCode) ? exitCode : null,
          message: word(member(ended, 'message')),
          finished: word(member(ended, 'finishedAt')),
        },
        place,
      );
    }
    const waiting = memberAt(container, state, 'waiting');
    const reason = word(member(waiting, 'reason'));
    if (reason !== undefined) writer.waiting(pod, name, reason, word(member(waiting, 'message')) ?? '', place);
  }
}

function word(value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined || text === '' ? undefined : text.slice(0, MOST_WORD);
}
