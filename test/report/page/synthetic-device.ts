/**
 * A device of a made-up training run for tests of the page: a small caching allocator serves parameters, activations
 * that come and go in each step, buffers of another stream, a private pool and an expandable segment, until a request
 * fails. The same options give the same device.
 */
import { addressBands, placeOf } from '../../../src/findings/picture/address-rows.js';
import { lifetimeCells } from '../../../src/findings/picture/lifetime-cells.js';
import { courseOf, OPEN_SEQ } from '../../../src/model/picture/levels.js';
import type { DeviceColumns, PageDevice, PageMark } from '../../../src/model/picture/page-data.js';

const KIB = 1024;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const COMPONENTS = [
  ...['parameter', 'optimizer_state', 'gradient', 'activation', 'logits_loss', 'recompute', 'communication'],
  ...['graph_pool', 'temporary', 'unattributed'],
];

export interface SyntheticOptions {
  readonly seed: number;
  readonly layers: number;
  readonly steps: number;
  readonly limitBytes: number;
  /** Large blocks of the default stream are in one expandable segment. */
  readonly expandable: boolean;
}

interface Pool {
  readonly isSmall: boolean;
  readonly isPrivate: boolean;
  readonly isExpandable: boolean;
  readonly stream: number;
  readonly segments: Segment[];
}

interface Segment {
  readonly address: number;
  bytes: number;
  /** Row of its present extent. */
  row: number;
  free: { from: number; to: number }[];
}

interface Row {
  from: number;
  to: number;
  readonly bytes: number;
  readonly address: number;
  readonly pool: Pool;
}

interface Block extends Row {
  pending: number;
  readonly component: number;
  readonly stack: number;
  readonly segment: Segment;
}

class OutOfMemory extends Error {}

/** xorshift32, from 0 to 1. */
export function randomOf(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const roundTo = (bytes: number, unit: number): number => Math.ceil(bytes / unit) * unit;

export function syntheticDevice(options: SyntheticOptions): { page: PageDevice; columns: DeviceColumns } {
  const random = randomOf(options.seed);
  const frames: string[] = [];
  const frameIds = new Map<string, number>();
  const stacks: number[][] = [];
  const stackIds = new Map<string, number>();
  const blocks: Block[] = [];
  const rows: Row[] = [];
  const marks: PageMark[] = [];
  const pool = (isSmall: boolean, stream: number, isPrivate = false): Pool => ({
    ...{ isSmall, isPrivate, stream, segments: [] },
    isExpandable: options.expandable && !isSmall && stream === 0 && !isPrivate,
  });
  const pools = { small: pool(true, 0), large: pool(false, 0), comm: pool(false, 1), graph: pool(false, 0, true) };
  let seq = 0;
  let reserved = 0;
  let nextAddress = 0x7f00_0000_0000;
  const vacant: { address: number; bytes: number }[] = [];

  const stackOf = (texts: readonly string[]): number => {
    const ids = texts.map((text) => {
      const known = frameIds.get(text);
      if (known !== undefined) return known;
      frameIds.set(text, frames.length);
      return frames.push(text) - 1;
    });
    const key = ids.join(' ');
    const known = stackIds.get(key);
    if (known !== undefined) return known;
    stackIds.set(key, stacks.length);
    return stacks.push(ids) - 1;
  };

  const releaseCached = (): void => {
    for (const { segments, isExpandable } of Object.values(pools)) {
      for (let i = segments.length - 1; i >= 0 && !isExpandable; i -= 1) {
        const segment = segments[i]!;
        if (segment.free.length !== 1 || segment.free[0]!.to - segment.free[0]!.from !== segment.bytes) continue;
        rows[segment.row]!.to = seq++;
        reserved -= segment.bytes;
        vacant.push({ address: segment.address, bytes: segment.bytes });
        segments.splice(i, 1);
      }
    }
  };

  const reserve = (of: Pool, bytes: number): Segment => {
    const size = of.isSmall
      ? 2 * MIB
      : of.isExpandable || bytes < 10 * MIB
        ? roundTo(bytes, 20 * MIB)
        : roundTo(bytes, 2 * MIB);
    const place = vacant.findIndex((range) => range.bytes === size);
    const reuse = place < 0 ? undefined : vacant.splice(place, 1)[0];
    const address = reuse?.address ?? nextAddress;
    if (reuse === undefined) nextAddress += roundTo(of.isExpandable ? 2 * options.limitBytes : size + 2 * MIB, 2 * MIB);
    rows.push({ from: seq++, to: OPEN_SEQ, bytes: size, address, pool: of });
    reserved += size;
    const segment = { address, bytes: size, row: rows.length - 1, free: [{ from: address, to: address + size }] };
    of.segments.push(segment);
    return segment;
  };

  const grow = (of: Pool, segment: Segment, bytes: number): void => {
    const last = segment.free.at(-1);
    const end = segment.address + segment.bytes;
    const tail = last !== undefined && last.to === end ? last : undefined;
    const by = roundTo(bytes - (tail === undefined ? 0 : tail.to - tail.from), 20 * MIB);
    rows[segment.row]!.to = seq;
    segment.row =
      rows.push({ from: seq++, to: OPEN_SEQ, bytes: segment.bytes + by, address: segment.address, pool: of }) - 1;
    segment.bytes += by;
    reserved += by;
    if (tail !== undefined) tail.to += by;
    else segment.free.push({ from: end, to: end + by });
  };

  const bestFit = (of: Pool, bytes: number): { segment: Segment; at: number } | undefined => {
    let best: { segment: Segment; at: number; size: number } | undefined;
    for (const segment of of.segments)
      segment.free.forEach((range, at) => {
        const size = range.to - range.from;
        if (size >= bytes && size < (best?.size ?? Number.POSITIVE_INFINITY)) best = { segment, at, size };
      });
    return best;
  };

  const alloc = (requested: number, component: string, site: readonly string[], from?: Pool): Block => {
    const bytes = Math.max(512, roundTo(requested, 512));
    const of = from ?? (bytes <= MIB ? pools.small : pools.large);
    let fit = bestFit(of, bytes);
    if (fit === undefined) {
      if (reserved + bytes > options.limitBytes) releaseCached();
      if (reserved + bytes > options.limitBytes) {
        const text = `failed allocation: ${(bytes / GIB).toFixed(2)} GiB`;
        marks.push({ kind: 'oom', seq: seq++, text, bytes, request: { stream: of.stream, isSmall: of.isSmall } });
        throw new OutOfMemory();
      }
      if (of.isExpandable && of.segments.length > 0) grow(of, of.segments[0]!, bytes);
      else reserve(of, bytes);
      fit = bestFit(of, bytes)!;
    }
    const { segment, at } = fit;
    const range = segment.free[at]!;
    const address = range.from;
    range.from += bytes;
    if (range.from === range.to) segment.free.splice(at, 1);
    const stack = site.length === 0 ? -1 : stackOf(site);
    const block = {
      ...{ from: seq++, to: OPEN_SEQ, pending: OPEN_SEQ, bytes, address, pool: of, segment, stack },
      component: COMPONENTS.indexOf(component),
    };
    blocks.push(block);
    return block;
  };

  const free = (block: Block): void => {
    seq += 1;
    block.to = seq++;
    if (block.pending === OPEN_SEQ) block.pending = block.to;
    const { free: ranges } = block.segment;
    let i = ranges.findIndex((range) => range.from > block.address);
    if (i < 0) i = ranges.length;
    ranges.splice(i, 0, { from: block.address, to: block.address + block.bytes });
    if (i + 1 < ranges.length && ranges[i]!.to === ranges[i + 1]!.from) ranges[i]!.to = ranges.splice(i + 1, 1)[0]!.to;
    if (i > 0 && ranges[i - 1]!.to === ranges[i]!.from) ranges[i - 1]!.to = ranges.splice(i, 1)[0]!.to;
  };

  const steps: { name: string; first: number; last: number }[] = [];
  try {
    run(options, random, { alloc, free, pools, seq: () => seq, pend: (block) => (block.pending = seq++) }, steps);
  } catch (error) {
    if (!(error instanceof OutOfMemory)) throw error;
  }
  const lastSeq = seq - 1;
  return assemble({ blocks, rows, marks, steps, frames, stacks, lastSeq, limitBytes: options.limitBytes });
}

interface Allocator {
  alloc(bytes: number, component: string, site: readonly string[], from?: Pool): Block;
  free(block: Block): void;
  readonly pools: { readonly comm: Pool; readonly graph: Pool };
  seq(): number;
  pend(block: Block): void;
}

/** Innermost frame first. */
const TRAIN = ['train_step megatron/training/training.py:812', 'pretrain megatron/training/training.py:391'];
const FORWARD = ['forward megatron/core/models/gpt/gpt_model.py:272', 'forward_step pretrain_gpt.py:148', ...TRAIN];
const BACKWARD = ['backward torch/autograd/__init__.py:347', 'backward_step schedules.py:361', ...TRAIN];

function run(
  { layers, steps: stepCount }: SyntheticOptions,
  random: () => number,
  { alloc, free, pools, seq, pend }: Allocator,
  steps: { name: string; first: number; last: number }[],
): void {
  const layerSite = (text: string): string[] => [
    text,
    'forward megatron/core/transformer/transformer_layer.py:421',
    'forward megatron/core/transformer/transformer_block.py:498',
    ...FORWARD,
  ];
  const setup = ['_allocate megatron/core/transformer/module.py:77', 'get_model training.py:1012', TRAIN[1]!];
  for (let layer = 0; layer < layers; layer += 1) {
    for (const mib of [48, 96, 64, 64]) alloc(mib * MIB, 'parameter', ['linear layers.py:118', ...setup]);
    for (const kib of [16, 16, 24]) alloc(kib * KIB, 'parameter', ['norm layers.py:31', ...setup]);
  }
  for (let i = 0; i < 6; i += 1)
    alloc((30 + 40 * random()) * MIB, 'graph_pool', ['capture graphs.py:88', ...setup], pools.graph);
  const kept: Block[] = [];
  for (let step = 0; step < stepCount; step += 1) {
    const first = seq();
    const stack: Block[] = [];
    const growth = 1 + step * 0.035;
    for (let layer = 0; layer < layers; layer += 1) {
      const scale = growth * (0.85 + 0.3 * random());
      const score = alloc(60 * MIB * scale, 'temporary', layerSite('softmax fused_softmax.py:52'));
      stack.push(alloc(24 * MIB * scale, 'activation', layerSite('_linear_forward layers.py:459')));
      stack.push(alloc(42 * MIB * scale, 'activation', layerSite('gelu fused_bias_gelu.py:41')));
      for (let i = 0; i < 8; i += 1)
        stack.push(alloc((4 + 900 * random()) * KIB, 'activation', layerSite(`dropout random.py:${200 + i}`)));
      const gathered = alloc(18 * MIB, 'communication', layerSite('all_gather mappings.py:93'), pools.comm);
      free(score);
      pend(gathered);
      for (let i = 0; i < 6; i += 1) free(alloc(700 * KIB * random(), 'temporary', layerSite('cast utils.py:12')));
      free(gathered);
      // A cache that is kept is allocated between what comes and goes: it pins what is around it.
      if (layer % 6 === 2) kept.push(alloc(2.4 * MIB, 'unattributed', layerSite('record metrics/history.py:32')));
    }
    const logits = alloc(420 * MIB * growth, 'logits_loss', ['matmul output_layer.py:61', ...FORWARD]);
    const loss = alloc(420 * MIB * growth, 'logits_loss', ['cross_entropy loss.py:24', ...FORWARD]);
    free(logits);
    free(loss);
    const gradients: Block[] = [];
    for (let layer = layers - 1; layer >= 0; layer -= 1) {
      const again = alloc(66 * MIB * growth, 'recompute', ['checkpoint random.py:531', ...BACKWARD]);
      gradients.push(alloc((90 + 80 * random()) * MIB, 'gradient', ['wgrad layers.py:702', ...BACKWARD]));
      for (let i = 0; i < 10; i += 1) {
        const done = stack.pop();
        if (done !== undefined) free(done);
      }
      free(again);
      if (gradients.length > 3) free(gradients.shift()!);
    }
    for (const gradient of gradients) free(gradient);
    if (step === 0)
      for (let layer = 0; layer < layers; layer += 1)
        for (const mib of [70, 70])
          alloc(mib * MIB, 'optimizer_state', ['init_state optimizer.py:210', TRAIN[0]!, TRAIN[1]!]);
    steps.push({ name: `iteration ${step + 1}`, first, last: seq() - 1 });
  }
}

function assemble(from: {
  readonly blocks: readonly Block[];
  readonly rows: readonly Row[];
  readonly marks: readonly PageMark[];
  readonly steps: PageDevice['steps'];
  readonly frames: readonly string[];
  readonly stacks: readonly (readonly number[])[];
  readonly lastSeq: number;
  readonly limitBytes: number;
}): { page: PageDevice; columns: DeviceColumns } {
  const { blocks, rows, lastSeq } = from;
  const bands = addressBands(
    Float64Array.from(rows, ({ address }) => address),
    Float64Array.from(rows, ({ bytes }) => bytes),
  );
  const flag = (is: boolean): number => (is ? 1 : 0);
  const pageBlocks = {
    count: blocks.length,
    from: Int32Array.from(blocks, (block) => block.from),
    to: Int32Array.from(blocks, (block) => block.to),
    pending: Int32Array.from(blocks, (block) => block.pending),
    bytes: Float64Array.from(blocks, (block) => block.bytes),
    component: Uint8Array.from(blocks, (block) => block.component),
    isPrivate: Uint8Array.from(blocks, (block) => flag(block.pool.isPrivate)),
    place: Float64Array.from(blocks, (block) => placeOf(bands, block.address)!),
    stack: Int32Array.from(blocks, (block) => block.stack),
  };
  const segments = {
    count: rows.length,
    from: Int32Array.from(rows, (row) => row.from),
    to: Int32Array.from(rows, (row) => row.to),
    bytes: Float64Array.from(rows, (row) => row.bytes),
    isPrivate: Uint8Array.from(rows, (row) => flag(row.pool.isPrivate)),
    isExpandable: Uint8Array.from(rows, (row) => flag(row.pool.isExpandable)),
    isSmall: Uint8Array.from(rows, (row) => flag(row.pool.isSmall)),
    place: Float64Array.from(rows, (row) => placeOf(bands, row.address)!),
    stream: Float64Array.from(rows, (row) => row.pool.stream),
  };
  const ranges = [
    { from: 0, to: lastSeq, columns: Math.min(2048, lastSeq + 1), name: 'whole trace' },
    { from: Math.max(0, lastSeq - 1999), to: lastSeq, columns: Math.min(2000, lastSeq + 1), name: 'the end' },
  ];
  const trace = { firstSeq: 0, lastSeq };
  const levels = courseOf(pageBlocks, segments, COMPONENTS.length, trace)(ranges);
  const peak = levels[0]!.active.reduce((most, bytes, i, all) => (bytes > all[most]! ? i : most), 0);
  const marks: PageMark[] = [
    { kind: 'peak', seq: levels[0]!.at[peak]!, text: 'peak', bytes: levels[0]!.active[peak]! },
    ...from.marks,
  ];
  const counts = { blocks: blocks.length, allBlocks: blocks.length, segments: rows.length, allSegments: rows.length };
  return {
    page: {
      ...{ title: 'rank 3, device 0', handle: 'night-shift/3/snapshot#1', device: 0, firstSeq: 0, lastSeq },
      ...{ basis: 'actual', unitBytes: 512, components: COMPONENTS, deviceTotalBytes: from.limitBytes + GIB },
      ...{
        firstTimeUs: 0,
        noTimes: null,
        levels: ranges,
        marks,
        steps: from.steps,
        wholeRanges: [{ from: 0, to: lastSeq }],
      },
      ...{ blocksOutside: 0, isDump: false, ...counts },
      ...{ bands: bands.length, stacks: from.stacks.length, largePageBytes: 20 * MIB },
      lifetimes: lifetimeCells(pageBlocks, lastSeq),
    },
    columns: {
      levels: levels.map((level, i) => ({
        ...level,
        name: ranges[i]!.name,
        startUs: Float64Array.from(
          level.at,
          (_, k) => (level.from + (k * (level.to - level.from + 1)) / level.columns) * 40,
        ),
      })),
      ...{ blocks: pageBlocks, segments, bands, stacks: from.stacks, frames: from.frames },
    },
  };
}
