/**
 * The peak of a device, by allocating stack and component: what two runs are compared by when one of them is only kept
 * as golden values.
 *
 * A run that died needs more than it ever had: where the state at its OOM and the refused request are more than the
 * peak, they are what is measured, with the request as one more site. Often it is the request alone that grew.
 */
import { classifyFrames } from '../../attribution/blocks/stack-classes.js';
import { builtInRules } from '../../attribution/built-in-rules.js';
import { labelOf } from '../../attribution/match/classify-stack.js';
import { NO_FRAMES, NO_STACK, readStacks } from '../../derive/stacks/read-stacks.js';
import { momentAt } from '../../derive/trace/state-at.js';
import type { MeasuredPeak, MeasuredSite } from '../../model/measurement.js';
import type { Component } from '../../model/vocabulary.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { Candidate } from '../diff/side.js';

/** Stacks kept; of those left out only the bytes are kept. A peak has a few dozen that matter. */
const MOST_SITES = 400;

/**
 * Without the path of the installation's library folder: it differs between machines. A checkout's path stays, because
 * its start is unknown.
 */
function shortPath(filename: string): string {
  return filename.replace(/^.*(?=\/lib(?:64)?\/python\d[\d.]*\/)/, '');
}

type Group = QueryRow<'measure.peak_stacks'>;

export async function measurePeak(store: Store, candidate: Candidate, device: number): Promise<MeasuredPeak> {
  const { snapshotId } = candidate;
  const { at, totals, request } = await heaviestMoment(store, snapshotId, device);
  const groups = await store.all('measure.peak_stacks', { ...at.key });
  if (request !== undefined) groups.push(await requestGroup(store, request));
  const components = new Map<string, number>();
  for (const { component, bytes } of groups) components.set(component, (components.get(component) ?? 0) + bytes);
  const sorted = groups.sort(
    (a, b) => b.bytes - a.bytes || (a.stack_id ?? -1) - (b.stack_id ?? -1) || a.count - b.count,
  );
  const kept = sorted.slice(0, MOST_SITES);
  const omitted = sorted.slice(MOST_SITES);
  const settings = await store.all('snapshot.settings', { snapshot_id: snapshotId });
  const hasTrace = candidate.devices.find((entry) => entry.device === device)?.has_trace === true;
  return {
    handle: candidate.handle,
    rank: candidate.rank,
    device,
    moment: request !== undefined ? 'oom' : hasTrace ? 'peak' : 'dump',
    basis: at.holds ? 'actual' : 'approximate',
    active_bytes: totals.active_bytes + (request?.bytes ?? 0),
    requested_bytes: request?.bytes ?? null,
    reserved_bytes: totals.reserved_bytes,
    components: Object.fromEntries([...components].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))),
    ...(await sitesOf(store, kept)),
    rest_bytes: omitted.reduce((sum, group) => sum + group.bytes, 0),
    rest_count: omitted.reduce((sum, group) => sum + group.count, 0),
    settings: Object.fromEntries(settings.map((row) => [row.key, row.value])),
  };
}

/** A refused request, rounded as the allocator rounds it. */
interface Refused {
  readonly bytes: number;
  readonly stackId: number;
}

async function heaviestMoment(store: Store, snapshotId: number, device: number) {
  const peak = await momentAt(store, snapshotId, device, { kind: 'peak' });
  const totals = (await store.one('state.totals', { ...peak.key }))!;
  const oom = (await store.all('snapshot.ooms', { snapshot_id: snapshotId }))
    .filter((row) => row.device === device)
    .at(-1);
  if (oom === undefined) return { at: peak, totals, request: undefined };
  const at = await momentAt(store, snapshotId, device, { kind: 'oom' });
  const then = (await store.one('state.totals', { ...at.key }))!;
  if (then.active_bytes + oom.requested_bytes <= totals.active_bytes) return { at: peak, totals, request: undefined };
  const request: Refused = { bytes: oom.requested_bytes, stackId: oom.stack_id ?? -1 };
  return { at, totals: then, request };
}

async function requestGroup(store: Store, { bytes, stackId }: Refused): Promise<Group> {
  const frames = (await readStacks(store, [stackId])).get(stackId) ?? [];
  const facts = { bytes, pool: undefined, lifetime: undefined };
  const component = labelOf(classifyFrames(builtInRules(), frames), facts)?.component ?? 'unattributed';
  const kind = stackId < 0 ? NO_STACK : frames.length === 0 ? NO_FRAMES : '';
  return { stack_id: stackId, kind, component, bytes, count: 1 };
}

async function sitesOf(store: Store, groups: readonly Group[]): Promise<Pick<MeasuredPeak, 'frames' | 'sites'>> {
  const stacks = await readStacks(
    store,
    groups.map((group) => group.stack_id ?? -1),
  );
  const frames: [string, string, number][] = [];
  const numbers = new Map<string, number>();
  const frameOf = (name: string, filename: string, line: number): number => {
    const file = shortPath(filename);
    const key = `${name}\0${file}\0${line}`;
    let number = numbers.get(key);
    if (number === undefined) {
      number = frames.length;
      frames.push([name, file, line]);
      numbers.set(key, number);
    }
    return number;
  };
  const sites = groups.map(({ stack_id, kind, component, bytes, count }): MeasuredSite => {
    const framesOfStack = stacks.get(stack_id ?? -1) ?? [];
    return {
      stack: framesOfStack.map((frame) => frameOf(frame.name, frame.filename, frame.line)),
      kind,
      component: component as Component,
      bytes,
      count,
    };
  });
  return { frames, sites };
}
