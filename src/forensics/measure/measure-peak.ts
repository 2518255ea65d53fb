/** The peak of a device, by allocating stack and component: what two runs are compared by when one of them is only kept as golden values. */
import { STACK_ORIGINS, stateTotals } from '../../allocator/walk/allocator-state.js';
import type { MeasuredPeak, MeasuredSite } from '../../model/measurement.js';
import { poolWords } from '../../model/pool-words.js';
import type { Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { attributeSnapshot } from '../attribution/components-at.js';
import { liveLabels } from '../attribution/views/live-labels.js';
import type { Candidate } from '../diff/side.js';
import { stateAt } from '../history/state-at.js';
import { readPoolNumbers } from '../names/pool-numbers.js';
import { NO_FRAMES, NO_STACK, readStacks } from '../stacks/read-stacks.js';

/** Stacks kept; what is left out is told by its bytes. A peak has a few dozen that matter. */
const MOST_SITES = 400;
const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');
const FREED = '(freed there; allocated before the recording)';

/** Without what stands before the installation's library: no two machines share it. A checkout's path stays, for nothing tells where it begins. */
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
  const at = await stateAt(store, snapshotId, device, { kind: 'peak' });
  const { labelOf } = liveLabels(await attributeSnapshot(store, snapshotId, device), at.state);
  const { blocks, segments } = at.state;
  const pools = await readPoolNumbers(store, snapshotId);
  const groups = new Map<string, Group>();
  const components = new Map<Component, number>();
  for (let i = 0; i < blocks.count; i += 1) {
    const stackId = blocks.stackId[i]!;
    const bytes = blocks.sizeBytes[i]!;
    const { component } = labelOf(i);
    components.set(component, (components.get(component) ?? 0) + bytes);
    const freed = blocks.stackOrigin[i] === FREE_EVENT;
    const pool = segments.pool[blocks.segment[i]!]!;
    const apart = stackId < 0 && pool > 0 ? ` in ${poolWords(pools.pair(pool))}` : '';
    const kind = stackId < 0 ? `${NO_STACK}${apart}` : freed ? FREED : '';
    const key = `${stackId} ${kind} ${component}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = { stackId, kind, component, bytes: 0, count: 0 };
      groups.set(key, group);
    }
    group.bytes += bytes;
    group.count += 1;
  }
  const sorted = [...groups.values()].sort((a, b) => b.bytes - a.bytes || a.stackId - b.stackId);
  const kept = sorted.slice(0, MOST_SITES);
  const rest = sorted.slice(MOST_SITES);
  const stacks = await readStacks(
    store,
    kept.map((group) => group.stackId),
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
  const sites = kept.map(({ stackId, kind, component, bytes, count }): MeasuredSite => {
    const own = stacks.get(stackId) ?? [];
    const named = own.length > 0 || stackId < 0 ? kind : kind === '' ? NO_FRAMES : `${NO_FRAMES} ${kind}`;
    return {
      stack: own.map((frame) => frameOf(frame.name, frame.filename, frame.line)),
      kind: named,
      component,
      bytes,
      count,
    };
  });
  const totals = stateTotals(at.state);
  const settings = await store.all('snapshot.settings', { snapshot_id: snapshotId });
  const hasTrace = candidate.devices.find((entry) => entry.device === device)?.hasTrace === true;
  return {
    handle: candidate.handle,
    rank: candidate.rank,
    device,
    moment: hasTrace ? 'peak' : 'dump',
    basis: at.holds ? 'actual' : 'approximate',
    active_bytes: totals.activeBytes,
    reserved_bytes: totals.reservedBytes,
    components: Object.fromEntries([...components].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))),
    frames,
    sites,
    rest_bytes: rest.reduce((sum, group) => sum + group.bytes, 0),
    rest_count: rest.reduce((sum, group) => sum + group.count, 0),
    settings: Object.fromEntries(settings.map((row) => [row.key, row.value])),
  };
}
