/**
 * The fast way into event rows: reads consecutive trace entries of the shape torch writes straight from the bytes of a
 * pickle into columns, and commits an entry only when all of it was as expected; at any surprise it ends before that
 * entry, and the general way (`parsers/torch-snapshot/snapshot-shapes.ts`) takes over. 99.6 % of the entries of torch's
 * files take it. It also predicts stacks: training loops repeat, so the bytes of the next list are mostly those of the
 * stack that followed this one last time (79 % hits on long files; given up where it does not pay).
 *
 * What keeps any file from a read or write outside of the areas of this decoder:
 * - the caller leaves {@link MARGIN_BYTES} readable bytes behind `limit`, and the position is compared with it after
 *   every opcode of variable number: at most 300 bytes (a text) are read before the next comparison;
 * - a number of a memo slot is compared with the number of written slots before it is used;
 * - payloads of memo words are ids that we gave out; those that index a table here (texts, stacks) are compared too;
 * - {@link SLOTS_OF_ENTRY} free memo slots and one free row are made sure of before an entry.
 */
import {
  ACTION_KEY,
  ADDR_KEY,
  CONTEXT_KEY,
  ENTRY,
  FRAME,
  FRAMES_KEY,
  KIND_SHIFT,
  KNOWN_TEXTS,
  LIST,
  METADATA_KEY,
  MOST_STACK_FRAMES,
  PAIR,
  PAYLOAD,
  POOL_KEY,
  SIZE_KEY,
  STACK,
  STR,
  STREAM_KEY,
  TIME_KEY,
} from './value-kinds';

// Of JavaScript, for what is not in the caches below. They may not call the module.
/** The stack of the first `depth` frames in the area of frames; −1 if its frames exceed the limit. */
declare function internStack(depth: i32, hash: i32): i32;
declare function internText(at: usize, length: i32): i32;
declare function internPool(first: i32, second: i32): i32;

const EMPTY_DICT: u32 = 0x7d;
const EMPTY_LIST: u32 = 0x5d;
const MARK: u32 = 0x28;
const MEMOIZE: u32 = 0x94;
const MEMOIZE_MARK: u32 = 0x2894;
const SETITEMS: u32 = 0x75;
const APPEND: u32 = 0x61;
const APPENDS: u32 = 0x65;
const BINGET: u32 = 0x68;
const LONG_BINGET: u32 = 0x6a;
const SHORT_BINUNICODE: u32 = 0x8c;
const BININT: u32 = 0x4a;
const BININT1: u32 = 0x4b;
const BININT2: u32 = 0x4d;
const LONG1: u32 = 0x8a;
/** TUPLE2, MEMOIZE. */
const PAIR_MEMOIZE: u32 = 0x9486;

/** No value: `NULL_HIGH` and `NULL_I32` of src/model/columns.ts. */
const NULL_64: i64 = i64.MIN_VALUE;
const NULL_32: i32 = -1;
/** No size reaches it: 2^53. */
const SIZE_LIMIT: u64 = (<u64>1) << 53;
/** An entry takes five: of itself, its list of frames, two texts, its pool. */
const SLOTS_OF_ENTRY: i32 = 16;

/**
 * Prediction is given up below this hit rate after that many tries: on a file of 368k distinct stacks it costs 60 %.
 */
const PREDICT_TRIES: i32 = 30_000;
const PREDICT_MIN_RATE: f64 = 0.2;
const PREDICT_BYTES: i32 = 64 * 1024 * 1024;
const CHUNK_BYTES: i32 = 256 * 1024;

/** Counts that JavaScript sets and reads: the memo, rows of the batch, entries of the device; see {@link counts}. */
const COUNTS: usize = memory.data(32, 8);
const MEMO_COUNT: usize = 0;
const ROWS: usize = 4;
const SEQ: usize = 8;
/** Keys and actions of all entries so far, as bits. */
const KEY_BITS: usize = 12;
const ACTION_BITS: usize = 16;
/** Stacks that were predicted. */
const HITS: usize = 20;
/** 1 if the last call ended because the memo is full, else 0. */
const MEMO_FULL: usize = 24;

/** By id of a known text: its number as a key, 0 for none; its code as an action, 255 for none that is taken here. */
const KEY_OF_TEXT: usize = memory.data(64);
const ACTION_OF_TEXT: usize = memory.data(64);

// Areas that JavaScript has made, see `placeTables` and `placeColumns`.
let memo: usize = 0;
let memoSlots: i32 = 0;
let frames: usize = 0;
let capacity: i32 = 0;
let deviceColumn: usize = 0;
let seqColumn: usize = 0;
let actionColumn: usize = 0;
let addrColumn: usize = 0;
let sizeColumn: usize = 0;
let streamColumn: usize = 0;
let timeColumn: usize = 0;
let poolColumn: usize = 0;
let stackColumn: usize = 0;
let contextColumn: usize = 0;
let metadataColumn: usize = 0;

let hashStart: i32 = 0;
/** Slots that are written; the entry that is read uses those from `slot` on. */
let memoCount: u32 = 0;
let slot: u32 = 0;
let newTexts: i32 = 0;

// ---- prediction ----

/** By stack id 16 bytes: the stack that followed last time; where the bytes of its list are, and how many, or 0. */
let lists: usize = 0;
let listCapacity: i32 = 0;
const FOLLOWER: usize = 0;
const BYTES: usize = 4;
const LENGTH: usize = 8;
const LIST_SHIFT: usize = 4;
const FIRST_LISTS: i32 = 1024;
/** Of 128 MB; half a million stacks are the most that was seen. */
const MOST_LISTS: i32 = 1 << 23;
/** Less than `listCapacity`, as all followers are. */
let lastStack: i32 = 0;
let isPredicting: bool = false;
let tries: i32 = 0;
let hits: i32 = 0;
/** The bytes of lists, in chunks that begin with the address of the chunk before. */
let chunk: usize = 0;
let chunkUsed: i32 = 0;
let chunkSize: i32 = 0;
let learnedBytes: i32 = 0;

/** Begins a file. The areas are to be placed next; {@link counts}, {@link keys} and {@link actions} are zero. */
export function beginEntries(start: i32): void {
  endEntries();
  hashStart = start;
  memory.fill(COUNTS, 0, 32);
  memory.fill(TEXTS, 0, TEXT_SLOTS * TEXT_BYTES);
  memory.fill(POOLS, 0, POOL_SLOTS * 8);
  memory.fill(BEGUN, 0, BEGUN_PLACES << 2);
  listCapacity = FIRST_LISTS;
  lists = heap.alloc((<usize>FIRST_LISTS) << LIST_SHIFT);
  memory.fill(lists, 0, (<usize>FIRST_LISTS) << LIST_SHIFT);
  lastStack = 0;
  isPredicting = true;
  tries = 0;
  hits = 0;
  learnedBytes = 0;
}

/** Frees what this file took, other than the areas of JavaScript. */
export function endEntries(): void {
  if (lists !== 0) heap.free(lists);
  lists = 0;
  while (chunk !== 0) {
    const before = load<usize>(chunk);
    heap.free(chunk);
    chunk = before;
  }
  chunkUsed = 0;
  chunkSize = 0;
}

export function counts(): usize {
  return COUNTS;
}
export function keys(): usize {
  return KEY_OF_TEXT;
}
export function actions(): usize {
  return ACTION_OF_TEXT;
}

/** The memo, of so many words, and the area of frames, which holds the longest stack. */
export function placeTables(memoAt: usize, slots: i32, framesAt: usize): void {
  memo = memoAt;
  memoSlots = slots;
  frames = framesAt;
}

/** The columns of the event batch. */
export function placeColumns(
  rows: i32,
  device: usize,
  seq: usize,
  action: usize,
  addr: usize,
  size: usize,
  stream: usize,
  time: usize,
  pool: usize,
  stack: usize,
  context: usize,
  metadata: usize,
): void {
  capacity = rows;
  deviceColumn = device;
  seqColumn = seq;
  actionColumn = action;
  addrColumn = addr;
  sizeColumn = size;
  streamColumn = stream;
  timeColumn = time;
  poolColumn = pool;
  stackColumn = stack;
  contextColumn = context;
  metadataColumn = metadata;
}

/**
 * Reads as many entries as possible of the trace of `device`, up to the end of the batch; returns the position behind
 * the last one. Only protocol 4 and 5 bodies: `} MEMOIZE ( key value … u`. `mayPredict`: equal bytes have equal values.
 */
export function readEntries(from: usize, limit: usize, device: i32, mayPredict: bool): usize {
  memoCount = load<u32>(COUNTS, MEMO_COUNT);
  let row = load<i32>(COUNTS, ROWS);
  let seq = load<i32>(COUNTS, SEQ);
  const predict = isPredicting && mayPredict;
  let at = from;
  store<i32>(COUNTS, 0, MEMO_FULL);
  while (row < capacity && at < limit && load<u8>(at) === EMPTY_DICT && load<u16>(at, 1) === MEMOIZE_MARK) {
    if (memoCount + SLOTS_OF_ENTRY > <u32>memoSlots) {
      store<i32>(COUNTS, 1, MEMO_FULL);
      break;
    }
    const next = readEntry(at + 3, limit, row, predict);
    if (next === 0) break;
    at = next;
    store<i32>(deviceColumn + ((<usize>row) << 2), device);
    store<i32>(seqColumn + ((<usize>row) << 2), seq);
    row += 1;
    seq += 1;
  }
  if (predict && tries > PREDICT_TRIES && <f64>hits < <f64>tries * PREDICT_MIN_RATE) isPredicting = false;
  store<u32>(COUNTS, memoCount, MEMO_COUNT);
  store<i32>(COUNTS, row, ROWS);
  store<i32>(COUNTS, seq, SEQ);
  store<i32>(COUNTS, hits, HITS);
  return at;
}

/** The position behind the entry whose first key is at `at`, which is then a row; 0 at a surprise. */
function readEntry(at: usize, limit: usize, row: i32, predict: bool): usize {
  const wide = (<usize>row) << 3;
  const narrow = (<usize>row) << 2;
  store<i64>(addrColumn + wide, NULL_64);
  store<i64>(streamColumn + wide, NULL_64);
  store<i64>(timeColumn + wide, NULL_64);
  store<i32>(poolColumn + narrow, NULL_32);
  store<i32>(stackColumn + narrow, NULL_32);
  store<i32>(contextColumn + narrow, NULL_32);
  store<i32>(metadataColumn + narrow, NULL_32);
  let bits: u32 = 0;
  let action: u32 = KNOWN_TEXTS;
  slot = memoCount + 1;
  newTexts = 0;
  for (;;) {
    const opcode = load<u8>(at);
    let index: u32 = 0;
    if (opcode === LONG_BINGET) {
      index = load<u32>(at, 1);
      at += 5;
    } else if (opcode === BINGET) {
      index = load<u8>(at, 1);
      at += 2;
    } else if (opcode === SETITEMS) break;
    else return 0;
    if (at > limit || index >= memoCount) return 0;
    const word = load<u32>(memo + ((<usize>index) << 2));
    const text = word & PAYLOAD;
    if (word >> KIND_SHIFT !== STR || text >= <u32>KNOWN_TEXTS) return 0;
    const key = <u32>load<u8>(KEY_OF_TEXT + text);
    const keyBit: u32 = 1 << key;
    if ((bits & keyBit) !== 0) return 0;
    bits |= keyBit;
    switch (key) {
      case ADDR_KEY:
        at = readInteger(at, addrColumn + wide);
        break;
      case SIZE_KEY:
        at = readInteger(at, sizeColumn + wide);
        // Negative ones too.
        if (load<u64>(sizeColumn + wide) >= SIZE_LIMIT) return 0;
        break;
      case STREAM_KEY:
        at = readInteger(at, streamColumn + wide);
        break;
      case TIME_KEY:
        at = readInteger(at, timeColumn + wide);
        break;
      case FRAMES_KEY:
        at = readFrames(at, limit, stackColumn + narrow, predict);
        break;
      case ACTION_KEY:
        at = readText(at, actionText);
        action = load<u32>(actionText);
        break;
      case CONTEXT_KEY:
        at = readText(at, contextColumn + narrow);
        break;
      case METADATA_KEY:
        at = readText(at, metadataColumn + narrow);
        break;
      case POOL_KEY:
        at = readPool(at, poolColumn + narrow);
        break;
      default:
        return 0;
    }
    if (at === 0) return 0;
  }
  if (action >= <u32>KNOWN_TEXTS || (bits & (1 << SIZE_KEY)) === 0) return 0;
  const code = load<u8>(ACTION_OF_TEXT + action);
  if (code === 255) return 0;
  store<u8>(actionColumn + row, code);
  store<u32>(memo + ((<usize>memoCount) << 2), ENTRY << KIND_SHIFT);
  memoCount = slot;
  store<u32>(COUNTS, load<u32>(COUNTS, KEY_BITS) | bits, KEY_BITS);
  store<u32>(COUNTS, load<u32>(COUNTS, ACTION_BITS) | (1 << code), ACTION_BITS);
  return at + 1;
}

/** Each of the following reads the value at `at`, and returns the position behind it, or 0 at a surprise. */
function readInteger(at: usize, target: usize): usize {
  const opcode = load<u8>(at);
  if (opcode === LONG1) {
    const length = <usize>load<u8>(at, 1);
    if (length < 5 || length > 7) return 0;
    const unused = <i64>(64 - (length << 3));
    store<i64>(target, (load<i64>(at, 2) << unused) >> unused);
    return at + 2 + length;
  }
  if (opcode === BININT1) {
    store<i64>(target, <i64>load<u8>(at, 1));
    return at + 2;
  }
  if (opcode === BININT2) {
    store<i64>(target, <i64>load<u16>(at, 1));
    return at + 3;
  }
  if (opcode === BININT) {
    store<i64>(target, <i64>load<i32>(at, 1));
    return at + 5;
  }
  return 0;
}

/** The memo word that a BINGET or LONG_BINGET at `at` gets; a constant, which nothing here takes, for no such word. */
function wordAt(at: usize, opcode: u32): u32 {
  const index: u32 = opcode === LONG_BINGET ? load<u32>(at, 1) : load<u8>(at, 1);
  return index < memoCount ? load<u32>(memo + ((<usize>index) << 2)) : 0;
}
function isGet(opcode: u32): bool {
  return opcode === LONG_BINGET || opcode === BINGET;
}
function afterGet(at: usize, opcode: u32): usize {
  return at + (opcode === LONG_BINGET ? 5 : 2);
}
function memoise(word: u32): void {
  store<u32>(memo + ((<usize>slot) << 2), word);
  slot += 1;
}

/** Place of the text id of the action; those of other keys go into their columns. */
const actionText: usize = memory.data(8);
function readText(at: usize, target: usize): usize {
  const opcode = <u32>load<u8>(at);
  if (isGet(opcode)) {
    const word = wordAt(at, opcode);
    if (word >> KIND_SHIFT !== STR) return 0;
    store<u32>(target, word & PAYLOAD);
    return afterGet(at, opcode);
  }
  if (opcode !== SHORT_BINUNICODE) return 0;
  const length = <i32>load<u8>(at, 1);
  const end = at + 2 + length;
  if (load<u8>(end) !== MEMOIZE) return 0;
  const text = textId(at + 2, length);
  newTexts += 1;
  if (newTexts > 2) return 0;
  memoise((STR << KIND_SHIFT) | text);
  store<u32>(target, text);
  return end + 1;
}

/** Texts that were read before: 512 slots of id + 1, length, and up to 56 bytes. */
const TEXT_SLOTS: i32 = 512;
const TEXT_BYTES: i32 = 64;
const CACHED_BYTES: i32 = 56;
const TEXTS: usize = memory.data(32_768, 16);

function textId(at: usize, length: i32): i32 {
  if (length > CACHED_BYTES) return internText(at, length);
  // Bytes behind the text are readable.
  const head = length < 8 ? load<u64>(at) & (((<u64>1) << ((<u64>length) << 3)) - 1) : load<u64>(at);
  const tail = length < 8 ? 0 : load<u64>(at + length - 8);
  const mixed = (head ^ rotl<u64>(tail, 21) ^ <u64>length) * 0x9e3779b97f4a7;
  const cached = TEXTS + <usize>((mixed >> 55) << 6);
  if (load<i32>(cached) > 0 && load<i32>(cached, 4) === length && isSame(at, cached + 8, length))
    return load<i32>(cached) - 1;
  const id = internText(at, length);
  store<i32>(cached, id + 1);
  store<i32>(cached, length, 4);
  memory.copy(cached + 8, at, length);
  return id;
}

function isSame(one: usize, other: usize, length: i32): bool {
  if (length < 16) {
    for (let i = 0; i < length; i++) if (load<u8>(one + i) !== load<u8>(other + i)) return false;
    return true;
  }
  // The last comparison overlaps the one before.
  const last = <usize>(length - 16);
  for (let i: usize = 0; i < last; i += 16)
    if (v128.any_true(v128.xor(v128.load(one + i), v128.load(other + i)))) return false;
  return !v128.any_true(v128.xor(v128.load(one + last), v128.load(other + last)));
}

/** Pools that were read before: 256 slots of first * 256 + second + 1, and the id. */
const POOL_SLOTS: i32 = 256;
const POOLS: usize = memory.data(2048, 8);

/** (a, b) of two small ints, as torch 2.12+ writes for every entry. */
function readPool(at: usize, target: usize): usize {
  const opcode = <u32>load<u8>(at);
  if (isGet(opcode)) {
    const word = wordAt(at, opcode);
    if (word >> KIND_SHIFT !== PAIR) return 0;
    store<u32>(target, word & PAYLOAD);
    return afterGet(at, opcode);
  }
  if (opcode !== BININT1 || load<u8>(at, 2) !== BININT1 || load<u16>(at, 4) !== PAIR_MEMOIZE) return 0;
  const first = <u32>load<u8>(at, 1);
  const second = <u32>load<u8>(at, 3);
  const pair = ((first << 8) | second) + 1;
  const cached = POOLS + (((first * 31 + second) & 255) << 3);
  let pool = load<u32>(cached, 4);
  if (load<u32>(cached) !== pair) {
    pool = internPool(first, second);
    store<u32>(cached, pair);
    store<u32>(cached, pool, 4);
  }
  memoise((PAIR << KIND_SHIFT) | pool);
  store<u32>(target, pool);
  return at + 6;
}

/** A list of frames: empty, of one, of several, or one that was read before. */
function readFrames(at: usize, limit: usize, target: usize, predict: bool): usize {
  const opcode = <u32>load<u8>(at);
  if (isGet(opcode)) {
    const word = wordAt(at, opcode);
    const kind = word >> KIND_SHIFT;
    if (kind !== STACK && kind !== LIST) return 0;
    store<u32>(target, kind === STACK ? word & PAYLOAD : 0);
    return afterGet(at, opcode);
  }
  if (opcode !== EMPTY_LIST || load<u8>(at, 1) !== MEMOIZE) return 0;
  at += 2;
  const listSlot = slot;
  slot += 1;
  let stack: i32 = 0;
  const next = <u32>load<u8>(at);
  if (next === MARK) {
    at += 1;
    stack = predict ? predicted(at, limit) : -1;
    if (stack >= 0) at += load<i32>(lists + ((<usize>stack) << LIST_SHIFT), LENGTH);
    else {
      at = readList(at, limit);
      if (at === 0) return 0;
      stack = listed;
      if (predict) learn(stack, at);
    }
    lastStack = stack < listCapacity ? stack : 0;
  } else if (isGet(next) && load<u8>(afterGet(at, next)) === APPEND) {
    const word = wordAt(at, next);
    if (word >> KIND_SHIFT !== FRAME) return 0;
    store<u32>(frames, word & PAYLOAD);
    stack = internStack(1, mixFrame(hashStart, word & PAYLOAD));
    if (stack < 0) return 0;
    at = afterGet(at, next) + 1;
  }
  const kind = stack === 0 ? LIST : STACK;
  store<u32>(memo + ((<usize>listSlot) << 2), (kind << KIND_SHIFT) | stack);
  store<i32>(target, stack);
  return at;
}

/** One step of a stack's hash: `mixFrame` of parsers/torch-snapshot/stack-dictionary.ts. */
function mixFrame(hash: i32, frame: i32): i32 {
  const mixed = (hash ^ frame) * 0x9e3779b1;
  return mixed ^ (mixed >>> 15);
}

let listStart: usize = 0;
let listed: i32 = 0;
/** Frames up to APPENDS; `listed` is then their stack. */
function readList(at: usize, limit: usize): usize {
  listStart = at;
  let depth: i32 = 0;
  let hash = hashStart;
  for (;;) {
    const opcode = load<u8>(at);
    let index: u32 = 0;
    if (opcode === LONG_BINGET) {
      index = load<u32>(at, 1);
      at += 5;
    } else if (opcode === BINGET) {
      index = load<u8>(at, 1);
      at += 2;
    } else if (opcode === APPENDS) break;
    else return 0;
    if (at > limit || index >= memoCount || depth >= MOST_STACK_FRAMES) return 0;
    const word = load<u32>(memo + ((<usize>index) << 2));
    if (word >> KIND_SHIFT !== FRAME) return 0;
    const frame = word & PAYLOAD;
    store<u32>(frames + ((<usize>depth) << 2), frame);
    depth += 1;
    hash = mixFrame(hash, frame);
  }
  listed = internStack(depth, hash);
  return listed < 0 ? 0 : at + 1;
}

/** By the first bytes of a list: the stack of the last one that began with them, or that has the same place. */
const BEGUN: usize = memory.data(16_384, 4);
const BEGUN_PLACES: i32 = 4096;
/** Innermost frames are the allocator's, and the same in most stacks. Bytes behind the list are readable. */
const BEGIN_BYTES: usize = 160;

/** The place in {@link BEGUN} of the list at `at`. */
function placeOf(at: usize): usize {
  let mixed: u64 = 0;
  for (let i: usize = 0; i < BEGIN_BYTES; i += 8) mixed = (mixed ^ load<u64>(at + i)) * 0x9e3779b97f4a7c15;
  return BEGUN + ((<usize>(mixed >> 52)) << 2);
}

/** The stack whose list the bytes at `at` are, if it is the one that followed last time, or begins alike; else −1. */
function predicted(at: usize, limit: usize): i32 {
  tries += 1;
  const follower = lists + ((<usize>lastStack) << LIST_SHIFT);
  let guess = load<i32>(follower, FOLLOWER);
  if (!isListOf(guess, at, limit)) {
    guess = load<i32>(placeOf(at));
    if (!isListOf(guess, at, limit)) return -1;
    store<i32>(follower, guess, FOLLOWER);
  }
  hits += 1;
  return guess;
}

function isListOf(stack: i32, at: usize, limit: usize): bool {
  const list = lists + ((<usize>stack) << LIST_SHIFT);
  const length = load<i32>(list, LENGTH);
  return length !== 0 && at + length < limit && isSame(at, load<usize>(list, BYTES), length);
}

/** Keeps the bytes from `listStart` to `end` as the list of `stack`, which followed the last one. */
function learn(stack: i32, end: usize): void {
  if (stack >= listCapacity) {
    if (stack >= MOST_LISTS) {
      isPredicting = false;
      return;
    }
    const grown = min(max(listCapacity * 2, stack + 1), MOST_LISTS);
    lists = heap.realloc(lists, (<usize>grown) << LIST_SHIFT);
    memory.fill(lists + ((<usize>listCapacity) << LIST_SHIFT), 0, (<usize>(grown - listCapacity)) << LIST_SHIFT);
    listCapacity = grown;
  }
  const length = <i32>(end - listStart);
  const list = lists + ((<usize>stack) << LIST_SHIFT);
  if (load<i32>(list, LENGTH) === 0 && learnedBytes + length <= PREDICT_BYTES) {
    if (chunkUsed + length > chunkSize) {
      chunkSize = max(CHUNK_BYTES, length + 16);
      const added = heap.alloc(chunkSize);
      store<usize>(added, chunk);
      chunk = added;
      chunkUsed = 16;
    }
    memory.copy(chunk + chunkUsed, listStart, length);
    store<usize>(list, chunk + chunkUsed, BYTES);
    store<i32>(list, length, LENGTH);
    chunkUsed += length;
    learnedBytes += length;
  }
  store<i32>(placeOf(listStart), stack);
  store<i32>(lists + ((<usize>lastStack) << LIST_SHIFT), stack, FOLLOWER);
}
