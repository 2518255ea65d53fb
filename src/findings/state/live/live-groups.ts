/** The live set at a moment, grouped by any key a reader may ask for. */
import { STACK_ORIGINS } from '../../../allocator/walk/allocator-state.js';
import { callSite, type Frame, frameKind } from '../../../attribution/frames/call-site.js';
import { stackModule } from '../../../attribution/frames/module-path.js';
import { poolWords } from '../../../model/pool-words.js';
import type { GroupKey, KeyGroup, LifetimeBasis } from '../../../model/results/peak.js';
import type { Store } from '../../../store/store.js';
import { readPoolNumbers } from '../../run/names/pool-numbers.js';
import { readStreamNumbers } from '../../run/names/stream-numbers.js';
import { readAnnotations, stageAt, stageTimeline } from '../../stacks/annotation-stages.js';
import { NO_FRAMES, readStacks } from '../../stacks/read-stacks.js';
import type { StateAt } from '../../trace/state-at.js';
import { type BlockAllocations, RESIDENT, readAllocations, readLifetimes, TRANSIENT } from './lifetimes.js';

export interface GroupRequest {
  readonly snapshotId: number;
  readonly device: number;
  readonly at: StateAt;
  readonly by: GroupKey;
  /** Frames that make a key of `site` and `module`: the site and this many − 1 callers. Default 1. */
  readonly depth?: number;
  /** Frames by stack id, if the caller has read them. */
  readonly stacks?: ReadonlyMap<number, readonly Frame[]>;
}

export interface LiveGroups {
  readonly by: GroupKey;
  readonly depth: number;
  /** Actual bytes of all live blocks (allocated and pending free): the sum of the groups. */
  readonly bytes: number;
  readonly count: number;
  /** In descending order of bytes. */
  readonly groups: readonly KeyGroup[];
  readonly lifetime: LifetimeBasis;
}

export const BEFORE_RECORDING = '(before the recording)';
export const NO_STAGE = '(no stage open)';
export const NO_ANNOTATIONS = '(no annotations recorded)';
export const NOT_COMPILED = '(in no compiled region)';
export const NO_COMPILE_CONTEXT = '(no compile context recorded)';
export const NO_METADATA = '(no metadata set)';
export const NO_METADATA_RECORDED = '(no metadata recorded)';
export const NO_STREAM = '(stream unknown)';
/** What marks a group that is named by the line that freed it. */
export const FREED_THERE = ' (freed there; allocated before the recording)';

interface Named {
  readonly key: string;
  readonly remainder: boolean;
  readonly stackId?: number;
}

const named = (key: string): Named => ({ key, remainder: false });
const remainder = (key: string): Named => ({ key, remainder: true });

/**
 * Groups the blocks of `request.at` by a key. Every live block is in one group; what has no such key is in groups
 * marked `remainder`. A few scans of the trace and a read of the stacks concerned; never a query per block.
 */
export async function groupLiveSet(store: Store, request: GroupRequest): Promise<LiveGroups> {
  const { snapshotId, device, at, by, depth = 1 } = request;
  const { blocks } = at.state;
  const annotations = await readAnnotations(store, snapshotId);
  const allocations = ALLOCATION_KEYS.has(by) ? await readAllocations(store, snapshotId, device, blocks) : undefined;
  const lifetimes = await readLifetimes(store, snapshotId, device, at, allocations);
  const nameOf = await namer(store, request, depth, allocations, annotations);
  const groups = new Map<string, { named: Named; bytes: number; count: number; parts: [number, number, number] }>();
  let bytes = 0;
  for (let row = 0; row < blocks.count; row += 1) {
    const name = nameOf(row);
    const id = `${name.remainder ? 1 : 0}${name.stackId ?? ''} ${name.key}`;
    let group = groups.get(id);
    if (group === undefined) {
      group = { named: name, bytes: 0, count: 0, parts: [0, 0, 0] };
      groups.set(id, group);
    }
    const size = blocks.sizeBytes[row]!;
    group.bytes += size;
    group.count += 1;
    bytes += size;
    if (lifetimes.classes !== undefined) group.parts[lifetimes.classes[row]! as 0 | 1 | 2] += size;
  }
  const known = lifetimes.classes !== undefined;
  const sorted = [...groups.values()].sort(
    (a, b) => b.bytes - a.bytes || (a.named.key < b.named.key ? -1 : a.named.key > b.named.key ? 1 : 0),
  );
  return {
    by,
    depth,
    bytes,
    count: blocks.count,
    groups: sorted.map(({ named: name, bytes: sum, count, parts }) => ({
      key: name.key,
      remainder: name.remainder,
      bytes: sum,
      count,
      resident_bytes: known ? parts[RESIDENT] : null,
      transient_bytes: known ? parts[TRANSIENT] : null,
      unknown_bytes: known ? parts[2] : null,
      ...(by === 'stack' ? { stack_id: name.stackId === undefined || name.stackId < 0 ? null : name.stackId } : {}),
    })),
    lifetime: lifetimes.basis,
  };
}

const ALLOCATION_KEYS: ReadonlySet<GroupKey> = new Set(['stage', 'compile', 'metadata']);

async function namer(
  store: Store,
  request: GroupRequest,
  depth: number,
  allocations: BlockAllocations | undefined,
  annotations: Awaited<ReturnType<typeof readAnnotations>>,
): Promise<(row: number) => Named> {
  const { snapshotId, device, at, by } = request;
  const { blocks, segments } = at.state;
  switch (by) {
    case 'site':
    case 'stack':
    case 'module': {
      const stacks = request.stacks ?? (await readStacks(store, blocks.stackId.subarray(0, blocks.count)));
      const cache = new Map<number, Named>();
      return (row) => {
        const stackId = blocks.stackId[row]!;
        // The free's stack only substitutes for an unrecorded allocation; mixing both would blame the freeing line.
        const freed = STACK_ORIGINS[blocks.stackOrigin[row]!] === 'free_event';
        const predates = blocks.allocSeq[row]! < 0;
        const slot = 4 * stackId + (freed ? 2 : 0) + (predates ? 1 : 0);
        let name = cache.get(slot);
        if (name === undefined) {
          name = stackName(by, stackId, stacks.get(stackId) ?? [], depth, freed, predates);
          cache.set(slot, name);
        }
        return name;
      };
    }
    case 'stage': {
      const times = allocations!.timeUs;
      const missing = remainder(annotations.length === 0 ? NO_ANNOTATIONS : NO_STAGE);
      const timeline = stageTimeline(annotations, device);
      return (row) => {
        if (blocks.allocSeq[row]! < 0) return remainder(BEFORE_RECORDING);
        const stage = annotations.length === 0 || Number.isNaN(times[row]!) ? null : stageAt(timeline, times[row]!);
        return stage === null ? missing : named(stage);
      };
    }
    case 'compile':
      return textNamer(
        store,
        blocks.allocSeq,
        allocations!.compileContext,
        NOT_COMPILED,
        NO_COMPILE_CONTEXT,
        (text) => text === 'N/A',
      );
    case 'metadata':
      return textNamer(
        store,
        blocks.allocSeq,
        allocations!.userMetadata,
        NO_METADATA,
        NO_METADATA_RECORDED,
        () => false,
      );
    case 'stream': {
      const numbers = await readStreamNumbers(store, snapshotId);
      return (row) => {
        const stream = segments.stream[blocks.segment[row]!]!;
        if (Number.isNaN(stream)) return remainder(NO_STREAM);
        return named(streamText(stream, numbers));
      };
    }
    case 'pool': {
      const pools = await readPoolNumbers(store, snapshotId);
      return (row) => {
        const segment = blocks.segment[row]!;
        const size = segments.small[segment] === 1 ? 'small' : 'large';
        const kind = segments.expandable[segment] === 1 ? ', expandable' : '';
        return named(`${poolWords(pools.pair(segments.pool[segment]!))} ${size}${kind}`);
      };
    }
  }
}

function stackName(
  by: GroupKey,
  stackId: number,
  frames: readonly Frame[],
  depth: number,
  freed: boolean,
  predates: boolean,
): Named {
  const own = by === 'stack' ? { stackId } : {};
  const name = by === 'module' ? stackModule(frames, depth) : callSite(frames, depth);
  // A block from before the recording has an empty stack; one allocated on a thread without Python frames has one too.
  if (name === undefined) return { ...remainder(predates ? BEFORE_RECORDING : NO_FRAMES), ...own };
  const native = frames.every((frame) => frameKind(frame) === 'noise' || frameKind(frame) === 'native');
  // C++ frames alone name an operator, not a line or a module.
  return { key: freed ? `${name}${FREED_THERE}` : name, remainder: native && by !== 'stack', ...own };
}

async function textNamer(
  store: Store,
  allocSeq: Int32Array,
  ids: Int32Array,
  unset: string,
  unrecorded: string,
  isUnset: (text: string) => boolean,
): Promise<(row: number) => Named> {
  const wanted = [...new Set(ids)].filter((id) => id >= 0);
  const rows = wanted.length === 0 ? [] : await store.all('peak.texts', { text_ids: wanted.join(',') });
  const texts = new Map(rows.map((row) => [row.text_id, row.text]));
  return (row) => {
    if (allocSeq[row]! < 0) return remainder(BEFORE_RECORDING);
    const text = texts.get(ids[row]!);
    if (text === undefined) return remainder(unrecorded);
    return text === '' || isUnset(text) ? remainder(unset) : named(text);
  };
}

function streamText(stream: number, numbers: ReadonlyMap<number, number>): string {
  if (stream === 0) return 'stream 0 (default)';
  return `stream ${numbers.get(stream) ?? '?'} (0x${stream.toString(16)})`;
}
