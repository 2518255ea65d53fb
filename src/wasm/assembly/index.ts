/**
 * The module that decodes the entries of a trace and walks back over them, in AssemblyScript: TypeScript's syntax with
 * the integer types of WebAssembly. `.ci/compile-module.mjs` compiles it to `src/wasm/module.gen.ts`. Arrays check
 * their bounds and stop with a trap; no index can leave the memory of the module.
 */
import { Forward } from './forward';
import { Lives } from './lives';
import { MAX_SAFE, NULL } from './memory';
import { Pools } from './pools';
import { Batch, BLOCK_LIFE, EntryRows, LifeRows, SEGMENT_LIFE, SegmentRows, TRACE_ENTRY } from './rows';
import { Owner } from './segments';
import { FREE_COMPLETED, FREE_REQUESTED, Trace } from './trace';
import { Settings, Walk } from './walk';

export {
  actions,
  beginEntries,
  counts,
  endEntries,
  keys,
  placeColumns,
  placeTables,
  readEntries,
} from './decode';
export { allocate, release, reserve, resize, setSeed } from './memory';

/** Of the device that is being read, walked over or asked for. */
let trace: Trace = new Trace();
let traces: Array<Trace> = [];
let settings: Settings = new Settings();
let pools: Pools = new Pools(-1);
/** Of the tables that the walk fills. */
let batches: StaticArray<Batch> = [];
let lives: Lives | null = null;
let walk: Walk | null = null;

/** Forgets all traces. */
export function reset(): void {
  traces = [];
  trace = new Trace();
  lives = null;
  walk = null;
  __collect();
}

/** Begins a trace; returns its number, by which {@link selectTrace} finds it again. */
export function openTrace(): i32 {
  trace = new Trace();
  return traces.push(trace) - 1;
}

export function selectTrace(number: i32): void {
  trace = traces[number];
}

/**
 * Adds rows `from` to `to` (exclusive) of a batch of entries whose columns are at these places. Returns the entry at
 * which the sums of sizes exceed 2^53, −1 = none.
 */
export function addEntries(
  from: i32,
  to: i32,
  action: usize,
  addr: usize,
  size: usize,
  stream: usize,
  time: usize,
  pool: usize,
  stack: usize,
  context: usize,
  metadata: usize,
): i32 {
  for (let row = from; row < to; row++) {
    const wide = usize(row) << 3;
    const narrow = usize(row) << 2;
    const isExact = trace.add(
      load<u8>(action + usize(row)),
      load<i64>(addr + wide),
      load<i64>(size + wide),
      load<i64>(stream + wide),
      load<i64>(time + wide),
      load<i32>(pool + narrow),
      load<i32>(stack + narrow),
      load<i32>(context + narrow),
      load<i32>(metadata + narrow),
    );
    if (!isExact) return trace.count - 1;
  }
  return -1;
}

/** Figures of the trace, as f64, in the order in which JavaScript names them, then the counts of its actions. */
export function traceFigures(to: usize): void {
  const figures: StaticArray<f64> = [
    f64(trace.count),
    f64(trace.firstAction),
    f64(trace.lastAction),
    trace.firstTime === NULL ? NaN : f64(trace.firstTime),
    f64(trace.unmatched),
    f64(trace.requested),
    f64(trace.requestedPeak),
    f64(trace.requestedPeakSeq),
    f64(trace.reserved),
    f64(trace.reservedPeak),
    f64(trace.disorder),
    f64(trace.disorderSeq),
  ];
  put(to, figures);
  for (let action = 0; action < trace.actions.length; action++)
    store<f64>(to + (usize(figures.length + action) << 3), f64(trace.actions[action]));
}

export function lastSeqs(count: i32, times: usize, seqs: usize): void {
  trace.lastSeqs(count, times, seqs);
}

/** Begins the walk over the trace; the settings are in bytes, MAX_SAFE = unlimited. */
export function openWalk(
  expandable: bool,
  maxSplit: f64,
  maxNonSplitRounding: f64,
  largeSegment: f64,
  defaultPool: i32,
  capacity: i32,
): void {
  settings = new Settings();
  settings.expandableSegments = expandable;
  settings.maxSplitBytes = bytes(maxSplit);
  settings.maxNonSplitRoundingBytes = bytes(maxNonSplitRounding);
  settings.largeSegmentBytes = bytes(largeSegment);
  pools = new Pools(defaultPool);
  batches = [new Batch(BLOCK_LIFE, capacity), new Batch(SEGMENT_LIFE, capacity), new Batch(TRACE_ENTRY, capacity)];
  walk = new Walk(trace, settings, pools, new SegmentRows(batches[SEGMENT_LIFE], pools));
}

/** `interval` of `roundup_power2_divisions`. */
export function setDivision(interval: i32, divisions: i32): void {
  settings.roundupPower2Divisions[interval] = divisions;
  if (divisions > 1) settings.isRounded = true;
}

/** A column of a table that is filled. */
export function setColumn(table: i32, column: i32, pointer: usize): void {
  batches[table].columns[column] = pointer;
}

export function finalSegment(
  address: f64,
  size: f64,
  stream: f64,
  small: i32,
  pool: i32,
  expandable: i32,
  inferred: i32,
): void {
  const owner = new Owner(
    Number.isNaN(stream) ? NULL : i64(stream),
    u8(small),
    max(0, pools.toWalk(pool)),
    u8(expandable),
    u8(inferred),
  );
  walk!.addFinalSegment(bytes(address), bytes(size), owner);
}

/** `requested` is −1 if it is not known. */
export function finalBlock(address: f64, size: f64, requested: f64, state: i32, stack: i32): void {
  walk!.addFinalBlock(bytes(address), bytes(size), requested < 0 ? -1 : bytes(requested), u8(state), stack);
}

export function hasLoneRequests(): bool {
  return walk!.hasLoneRequests();
}

/** Undoes the trace. All rows of segments have been handed over when it returns. */
export function walkBack(requestsRecorded: bool, completionsRecorded: bool): void {
  const ends = trace.actions[FREE_COMPLETED] + (completionsRecorded ? 0 : trace.actions[FREE_REQUESTED]);
  lives = new Lives(walk!.blocks.size + ends, trace.freesCarryStacks());
  walk!.requestsRecorded = requestsRecorded;
  walk!.completionsRecorded = completionsRecorded;
  walk!.back(lives!);
  lives!.finish();
  batches[SEGMENT_LIFE].hand();
}

/** Figures of the walk, as f64, in the order in which JavaScript names them. */
export function walkFigures(to: usize): void {
  const back = walk!;
  const peakBefore = back.active >= back.peakActive.total;
  const reservedBefore = back.reserved >= back.peakReserved;
  put(to, [
    f64(lives!.count),
    f64(lives!.starts),
    f64(back.violations),
    f64(back.tailViolations),
    f64(back.impliedCompletions),
    back.reserved === 0 && back.blocks.size === 0 ? 1 : 0,
    f64(peakBefore ? back.active : back.peakActive.total),
    peakBefore ? -1 : f64(back.peakActive.seq),
    f64(reservedBefore ? back.reserved : back.peakReserved),
    reservedBefore ? -1 : f64(back.peakReservedSeq),
    f64(back.uncertainBlocks),
    f64(back.uncertainBytes),
    back.isPooled ? 1 : 0,
  ]);
}

/** Places of the columns of the lives, as u32, in the order in which JavaScript names them. */
export function livesColumns(to: usize): void {
  const columns: StaticArray<usize> = [
    changetype<usize>(lives!.fromSeq),
    changetype<usize>(lives!.toSeq),
    changetype<usize>(lives!.bytes),
    changetype<usize>(lives!.requested),
    changetype<usize>(lives!.stack),
    changetype<usize>(lives!.origin),
    changetype<usize>(lives!.pool),
    changetype<usize>(lives!.pendingSeq),
  ];
  for (let i = 0; i < columns.length; i++) store<u32>(to + (usize(i) << 2), columns[i]);
}

/**
 * The way forward: hands over the rows of blocks and of the entries that they do not restore, and fills the columns of
 * `derived_bucket` whose places are at `columns` (u32). `labels`: numbers of the labels of the lives, as i32; 0 = not
 * known. Returns the number of buckets: see {@link Forward.run}.
 */
export function goForward(labels: usize, columns: usize, entries: i32, cuts: usize, cutCount: i32, most: i32): i32 {
  const entryRows = new EntryRows(batches[TRACE_ENTRY], trace);
  const rows = new LifeRows(batches[BLOCK_LIFE], entryRows, trace, lives!, pools, labels);
  const forward = new Forward(trace, walk!, lives!, rows, entryRows);
  for (let i = 0; i < forward.columns.length; i++) forward.columns[i] = load<u32>(columns + (usize(i) << 2));
  const count = forward.run(entries, cuts, cutCount, most);
  batches[BLOCK_LIFE].hand();
  batches[TRACE_ENTRY].hand();
  return count;
}

function put(to: usize, figures: StaticArray<f64>): void {
  for (let i = 0; i < figures.length; i++) store<f64>(to + (usize(i) << 3), figures[i]);
}

/** Whole bytes; what no memory has is cut to 2^53. */
function bytes(value: f64): i64 {
  return value >= 0 ? (value <= f64(MAX_SAFE) ? i64(value) : MAX_SAFE) : 0;
}
