/**
 * The peak of a device, by allocating stack and component: what two runs are compared by when one of them is only kept
 * as golden values.
 *
 * A run that died needs more than it ever had: where the state at its OOM and the refused request are more than the
 * peak, they are what is measured, with the request as one more site. Often it is the request alone that grew.
 */
import { type AllocatorState, STACK_ORIGINS, stateTotals } from '../../allocator/walk/allocator-state.js';
import { classifyFrames } from '../../attribution/blocks/stack-classes.js';
import { builtInRules } from '../../attribution/built-in-rules.js';
import { labelOf } from '../../attribution/match/classify-stack.js';
import type { MeasuredPeak, MeasuredSite } from '../../model/measurement.js';
import { poolWords } from '../../model/pool-words.js';
import type { Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { componentOfBlocks } from '../attribution/components-at.js';
import type { Candidate } from '../diff/side.js';
import { readPoolNumbers } from '../run/names/pool-numbers.js';
import { NO_FRAMES, NO_STACK, readStacks } from '../stacks/read-stacks.js';
import { type StateAt, stateAt } from '../trace/state-at.js';

/** Stacks kept; of those left out only the bytes are kept. A peak has a few dozen that matter. */
const MOST_SITES = 400;
const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');
const FREED = '(freed there; allocated before the recording)';

/**
 * Without the path of the installation's library folder: it differs between machines. A checkout's path stays, because
 * its start is unknown.
 */
function shortPath(filename: string): string {
  return filename.replace(/^.*(?=\/lib(?:64)?\/python\d[\d.]*\/)/, '');
}

interface Group {
  readonly stackId: number;
  readonly kind: string;
  readonly component: Component;
  bytes: number;
  count: number;
}

export async function measurePeak(store: Store, candidate: Candidate, device: number): Promise<MeasuredPeak> {
  const { snapshotId } = candidate;
  const { at, request } = await heaviestMoment(store, snapshotId, device);
  const groups = await liveGroups(store, snapshotId, device, at.state);
  if (request !== undefined) groups.push(await requestGroup(store, request));
  const components = new Map<Component, number>();
  for (const { component, bytes } of groups) components.set(component, (components.get(component) ?? 0) + bytes);
  const sorted = groups.sort((a, b) => b.bytes - a.bytes || a.stackId - b.stackId || a.count - b.count);
  const kept = sorted.slice(0, MOST_SITES);
  const omitted = sorted.slice(MOST_SITES);
  const totals = stateTotals(at.state);
  const settings = await store.all('snapshot.settings', { snapshot_id: snapshotId });
  const hasTrace = candidate.devices.find((entry) => entry.device === device)?.hasTrace === true;
  return {
    handle: candidate.handle,
    rank: candidate.rank,
    device,
    moment: request !== undefined ? 'oom' : hasTrace ? 'peak' : 'dump',
    basis: at.holds ? 'actual' : 'approximate',
    active_bytes: totals.activeBytes + (request?.bytes ?? 0),
    requested_bytes: request?.bytes ?? null,
    reserved_bytes: totals.reservedBytes,
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

async function heaviestMoment(
  store: Store,
  snapshotId: number,
  device: number,
): Promise<{ readonly at: StateAt; readonly request: Refused | undefined }> {
  const peak = await stateAt(store, snapshotId, device, { kind: 'peak' });
  const oom = (await store.all('snapshot.ooms', { snapshot_id: snapshotId }))
    .filter((row) => row.device === device)
    .at(-1);
  if (oom === undefined) return { at: peak, request: undefined };
  const at = await stateAt(store, snapshotId, device, { kind: 'oom' });
  const needed = stateTotals(at.state).activeBytes + oom.requested_bytes;
  if (needed <= stateTotals(peak.state).activeBytes) return { at: peak, request: undefined };
  return { at, request: { bytes: oom.requested_bytes, stackId: oom.stack_id ?? -1 } };
}

async function liveGroups(store: Store, snapshotId: number, device: number, state: AllocatorState): Promise<Group[]> {
  const components = await componentOfBlocks(store, snapshotId, device, state);
  const { blocks, segments } = state;
  const pools = await readPoolNumbers(store, snapshotId);
  const groups = new Map<string, Group>();
  for (let i = 0; i < blocks.count; i += 1) {
    const stackId = blocks.stackId[i]!;
    const component = components.get(blocks.block![i]!)!;
    const freed = blocks.stackOrigin[i] === FREE_EVENT;
    const pool = segments.pool[blocks.segment[i]!]!;
    const inPool = stackId < 0 && pool > 0 ? ` in ${poolWords(pools.pair(pool))}` : '';
    const kind = stackId < 0 ? `${NO_STACK}${inPool}` : freed ? FREED : '';
    const key = `${stackId} ${kind} ${component}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = { stackId, kind, component, bytes: 0, count: 0 };
      groups.set(key, group);
    }
    group.bytes += blocks.sizeBytes[i]!;
    group.count += 1;
  }
  return [...groups.values()];
}

async function requestGroup(store: Store, { bytes, stackId }: Refused): Promise<Group> {
  const frames = (await readStacks(store, [stackId])).get(stackId) ?? [];
  const facts = { bytes, pool: undefined, lifetime: undefined };
  const component = labelOf(classifyFrames(builtInRules(), frames), facts)?.component ?? 'unattributed';
  return { stackId, kind: stackId < 0 ? NO_STACK : '', component, bytes, count: 1 };
}

async function sitesOf(store: Store, groups: readonly Group[]): Promise<Pick<MeasuredPeak, 'frames' | 'sites'>> {
  const stacks = await readStacks(
    store,
    groups.map((group) => group.stackId),
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
  const sites = groups.map(({ stackId, kind, component, bytes, count }): MeasuredSite => {
    const framesOfStack = stacks.get(stackId) ?? [];
    const named = framesOfStack.length > 0 || stackId < 0 ? kind : kind === '' ? NO_FRAMES : `${NO_FRAMES} ${kind}`;
    return {
      stack: framesOfStack.map((frame) => frameOf(frame.name, frame.filename, frame.line)),
      kind: named,
      component,
      bytes,
      count,
    };
  });
  return { frames, sites };
}
