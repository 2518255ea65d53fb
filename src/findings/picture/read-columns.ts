/** The columns of a device that a picture is made of, from the store. */
import { NULL_I32 } from '../../model/columns.js';
import type { BlockColumns, SegmentColumns } from '../../model/picture/levels.js';
import type { Band, PageBlocks, PageSegments } from '../../model/picture/page-data.js';
import { STACKING_ORDER } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { addressBands, placeOf } from './address-rows.js';
import type { ChosenBlocks } from './choose-blocks.js';

/** What `picture.blocks` takes for no range. */
const NO_RANGE = { from: 0, to: -2 };
/** Sizes of blocks are multiples of it, except for those of other allocators. */
const UNIT_BYTES = 512;
/** Segments and mapped runs of a page. */
const MOST_SEGMENTS = 20_000;
export type DeviceId = { readonly snapshot_id: number; readonly device: number };

const LIFE_SPEC = {
  from_seq: 'i32',
  to_seq: 'i32',
  pending_seq: 'i32',
  actual_bytes: 'f64',
  pool: 'i32',
  label: 'i32',
} as const;

export interface ReadBlocks {
  readonly blocks: BlockColumns;
  /** In the order of stacking; only those that occur. */
  readonly components: readonly string[];
  readonly unitBytes: number;
  /** Private pools. */
  readonly pools: ReadonlySet<number>;
  /** Index of the component of each label, and of blocks without one at NULL_I32. */
  readonly labels: ReadonlyMap<number, number>;
}

export async function readBlocks(store: Store, id: DeviceId): Promise<ReadBlocks> {
  const named = await store.all('picture.labels', id);
  const componentOf = new Map<number, string>(named.map(({ label, component }) => [label, component]));
  const privatePools = (await store.all('snapshot.pool_ids', { snapshot_id: id.snapshot_id }))
    .filter((pool) => pool.pool_id_a !== 0 || pool.pool_id_b !== 0)
    .map(({ pool }) => pool);
  const pools = new Set(privatePools);
  const rows = await store.one('state.history', id);
  const capacity = rows?.blocks ?? 0;
  const blocks = {
    count: 0,
    from: new Int32Array(capacity),
    to: new Int32Array(capacity),
    pending: new Int32Array(capacity),
    bytes: new Float64Array(capacity),
    component: new Uint8Array(capacity),
    isPrivate: new Uint8Array(capacity),
  };
  const codes = new Map<string, number>(STACKING_ORDER.map((component, code) => [component, code]));
  const codeOf = new Map<number, number>();
  for (const [label, component] of componentOf) codeOf.set(label, codes.get(component) ?? codes.get(UNLABELLED)!);
  codeOf.set(NULL_I32, codes.get(UNLABELLED)!);
  const occurs = new Uint8Array(STACKING_ORDER.length);
  let odd = false;
  for await (const { rows: count, columns } of store.readQueryColumns('picture.lives', id, LIFE_SPEC)) {
    const at = blocks.count;
    if (at + count > capacity) throw new Error(`device ${id.device} has more blocks than its history counts`);
    blocks.from.set(columns.from_seq, at);
    blocks.to.set(columns.to_seq, at);
    blocks.pending.set(columns.pending_seq, at);
    blocks.bytes.set(columns.actual_bytes, at);
    const { label, pool, actual_bytes } = columns;
    for (let i = 0; i < count; i += 1) {
      const code = codeOf.get(label[i]!) ?? codeOf.get(NULL_I32)!;
      blocks.component[at + i] = code;
      occurs[code] = 1;
      if (pools.size > 0 && pools.has(pool[i]!)) blocks.isPrivate[at + i] = 1;
      // The lowest 9 bits; a remainder of doubles takes ten times as long.
      if ((actual_bytes[i]! & (UNIT_BYTES - 1)) !== 0) odd = true;
    }
    blocks.count += count;
  }
  const components = STACKING_ORDER.filter((_, code) => occurs[code] === 1);
  const places = Uint8Array.from(STACKING_ORDER, (component) => Math.max(0, components.indexOf(component)));
  for (let i = 0; i < blocks.count; i += 1) blocks.component[i] = places[blocks.component[i]!]!;
  const labels = new Map([...codeOf].map(([label, code]) => [label, places[code]!]));
  return { blocks, components, unitBytes: odd ? 1 : UNIT_BYTES, pools, labels };
}

const UNLABELLED = 'unattributed';

const SEGMENT_SPEC = {
  from_seq: 'i32',
  to_seq: 'i32',
  address: 'f64',
  total_bytes: 'f64',
  stream: 'f64',
  is_small: 'u8',
  pool: 'i32',
  is_expandable: 'u8',
} as const;

export async function readSegments(
  store: Store,
  id: DeviceId,
  pools: ReadonlySet<number>,
): Promise<{ all: SegmentColumns; drawn: PageSegments; bands: Band[] }> {
  const parts: { from: number; to: number; address: number; bytes: number; stream: number; flags: number }[] = [];
  for await (const { rows, columns } of store.readQueryColumns('picture.segments', id, SEGMENT_SPEC))
    for (let i = 0; i < rows; i += 1) {
      const isPrivate = columns.pool[i] !== NULL_I32 && pools.has(columns.pool[i]!);
      parts.push({
        from: columns.from_seq[i]!,
        to: columns.to_seq[i]!,
        address: columns.address[i]!,
        bytes: columns.total_bytes[i]!,
        stream: columns.stream[i]!,
        flags: (isPrivate ? 1 : 0) | (columns.is_expandable[i] === 1 ? 2 : 0) | (columns.is_small[i] === 1 ? 4 : 0),
      });
    }
  const columnsOf = (chosen: typeof parts, bands: readonly Band[]): PageSegments => ({
    count: chosen.length,
    from: Int32Array.from(chosen, (part) => part.from),
    to: Int32Array.from(chosen, (part) => part.to),
    bytes: Float64Array.from(chosen, (part) => part.bytes),
    isPrivate: Uint8Array.from(chosen, (part) => part.flags & 1),
    isExpandable: Uint8Array.from(chosen, (part) => (part.flags >> 1) & 1),
    isSmall: Uint8Array.from(chosen, (part) => (part.flags >> 2) & 1),
    place: Float64Array.from(chosen, (part) => placeOf(bands, part.address) ?? 0),
    stream: Float64Array.from(chosen, (part) => (Number.isNaN(part.stream) ? -1 : part.stream)),
  });
  const areaOf = (part: (typeof parts)[number]): number => part.bytes * (part.to - part.from);
  const chosen =
    parts.length <= MOST_SEGMENTS
      ? parts
      : [...parts]
          .sort((a, b) => areaOf(b) - areaOf(a))
          .slice(0, MOST_SEGMENTS)
          .sort((a, b) => a.from - b.from || a.address - b.address);
  const bands = addressBands(
    Float64Array.from(chosen, (part) => part.address),
    Float64Array.from(chosen, (part) => part.bytes),
  );
  return { all: columnsOf(parts, bands), drawn: columnsOf(chosen, bands), bands };
}

const DRAWN_SPEC = { ...LIFE_SPEC, address: 'f64', stack_id: 'i32' } as const;

export async function readDrawn(
  store: Store,
  id: DeviceId & { readonly last_seq: number },
  { leastArea, whole }: ChosenBlocks,
  bands: readonly Band[],
  componentOf: (label: number) => number,
  pools: ReadonlySet<number>,
): Promise<{ columns: PageBlocks; stackIds: readonly number[]; outside: number }> {
  const from: number[] = [];
  const to: number[] = [];
  const pending: number[] = [];
  const bytes: number[] = [];
  const place: number[] = [];
  const component: number[] = [];
  const isPrivate: number[] = [];
  const stack: number[] = [];
  const stackIds: number[] = [];
  /** Outside every drawn segment: the map lacks a row for them. */
  let outside = 0;
  const indices = new Map<number, number>([[NULL_I32, -1]]);
  const [first = NO_RANGE, second = NO_RANGE, third = NO_RANGE] = whole;
  const params = {
    ...id,
    least_area: leastArea,
    ...{ first_1: first.from, last_1: first.to, first_2: second.from, last_2: second.to },
    ...{ first_3: third.from, last_3: third.to },
  };
  for await (const { rows, columns } of store.readQueryColumns('picture.blocks', params, DRAWN_SPEC))
    for (let i = 0; i < rows; i += 1) {
      const at = placeOf(bands, columns.address[i]!);
      if (at === undefined) {
        outside += 1;
        continue;
      }
      const stackId = columns.stack_id[i]!;
      if (!indices.has(stackId)) indices.set(stackId, stackIds.push(stackId) - 1);
      from.push(columns.from_seq[i]!);
      to.push(columns.to_seq[i]!);
      pending.push(Math.min(columns.pending_seq[i]!, columns.to_seq[i]!));
      bytes.push(columns.actual_bytes[i]!);
      place.push(at);
      component.push(componentOf(columns.label[i]!));
      isPrivate.push(pools.has(columns.pool[i]!) ? 1 : 0);
      stack.push(indices.get(stackId)!);
    }
  const columns: PageBlocks = {
    count: from.length,
    from: Int32Array.from(from),
    to: Int32Array.from(to),
    pending: Int32Array.from(pending),
    bytes: Float64Array.from(bytes),
    place: Float64Array.from(place),
    component: Uint8Array.from(component),
    isPrivate: Uint8Array.from(isPrivate),
    stack: Int32Array.from(stack),
  };
  return { columns, stackIds, outside };
}
