/**
 * The fast way into event rows: reads consecutive trace entries of the shape torch writes straight from the bytes, and
 * commits an entry only when all of it was as expected; at any surprise it leaves the position untouched and the
 * general way (`snapshot-shapes.ts`) takes over. 99.6 % of the entries of torch's files take it. It also predicts
 * stacks: training loops repeat, so the bytes of the next list are mostly those of the stack that followed this one
 * last time (79 % hits on long files; switched off where it does not pay). One long function and class fields, because
 * that is what V8 keeps optimised: halving the decoder's time is worth one file that reads like assembly.
 */
import { NULL_HIGH, NULL_I32 } from '../../src/model/columns.js';
import type { RowSink, SnapshotSink } from '../../src/model/parser.js';
import { TRACE_ACTIONS } from '../../src/model/vocabulary.js';
import { bit, KEY } from './keys.js';
import { PickleMachine } from './pickle-machine.js';
import type { SnapshotBatches } from './snapshot-shapes.js';
import { mixFrame, STACK_HASH_START, type StackDictionary } from './stack-dictionary.js';
import { doubled } from './text-interner.js';
import { ENTRY, FRAME, LIMITS, LIST, PAIR, STACK, STR } from './value-stack.js';

const OTHER_ACTION = TRACE_ACTIONS.indexOf('other');
const OOM_ACTION = TRACE_ACTIONS.indexOf('oom');
const SIZE_BIT = bit('size');
const MAX_SIZE_HIGH = 0x200000; // high half of 2^53

/**
 * Prediction is given up below this hit rate after that many tries: on a file of 368k distinct stacks it costs 60 %.
 */
const PREDICT_TRIES = 30_000;
const PREDICT_MIN_RATE = 0.2;
const PREDICT_POOL_BYTES = 64 * 1024 * 1024;

export class SnapshotMachine extends PickleMachine {
  /** Entries that took this way, for the statistics. */
  fastEntries = 0;

  private predict = true;
  private predictTries = 0;
  private predictHits = 0;
  private predictOffsets = new Uint32Array(1 << 12);
  private predictLengths = new Uint32Array(1 << 12);
  private predictPool = Buffer.allocUnsafeSlow(1 << 18);
  private predictView: DataView;
  private predictUsed = 0;
  private nextStack = new Int32Array(1 << 12);
  private lastStack = 0;

  constructor(sink: RowSink, out: SnapshotSink, dictionary: StackDictionary, batches: SnapshotBatches) {
    super(sink, out, dictionary, batches);
    this.predictView = new DataView(this.predictPool.buffer, this.predictPool.byteOffset, this.predictPool.length);
  }

  /**
   * Reads as many consecutive trace entries as possible, starting at the EMPTY_DICT at `start`. Only inside a trace
   * list whose device the general way has found, and only protocol 4 and 5 bodies: `} MEMOIZE ( key value … u`.
   */
  protected override fastPath(start: number, end: number): number {
    if (
      this.device < 0 ||
      this.deviceMarkDepth !== this.markDepth ||
      this.marks[this.markDepth - 1] !== this.deviceMark
    ) {
      return start;
    }
    const { buf, view, dictionary, keyOfText, knownTexts, actionOfText, frames, device, batch } = this;
    const { texts } = dictionary;
    const {
      colAddr,
      colSize,
      colStream,
      colTime,
      colPool,
      colStack,
      colContext,
      colMetadata,
      colAction,
      colSeq,
      colDevice,
    } = this;
    let memo = this.memo;
    let memoCount = this.memoCount;
    let row = batch.rows;
    let seq = this.traceLengths[device]!;
    const firstSeq = seq;
    const lastRow = batch.capacity;
    const limit = end - 4096;
    const predict = this.predict && !this.memoOverwritten;
    let { predictOffsets, predictLengths, predictPool, predictView, nextStack, lastStack } = this;
    let hits = 0;
    let tries = 0;
    let seen = 0;
    let seenActions = 0;
    let p = start;

    entries: while (p < limit && buf[p] === 0x7d && buf[p + 1] === 0x94 && buf[p + 2] === 0x28) {
      let q = p + 3;
      let slot = memoCount + 1;
      if (memoCount + 16 > memo.length) {
        this.memoCount = memoCount;
        memo = this.growMemo(p);
      }
      let bits = 0;
      let action = -1;
      let context = NULL_I32;
      let metadata = NULL_I32;
      let stack = NULL_I32;
      let pool = NULL_I32;
      let addrLow = 0;
      let addrHigh = NULL_HIGH | 0;
      let sizeLow = 0;
      let sizeHigh = 0;
      let streamLow = 0;
      let streamHigh = NULL_HIGH | 0;
      let timeLow = 0;
      let timeHigh = NULL_HIGH | 0;
      let listSlot = -1;
      let poolSlot = -1;
      let textSlot = -1;
      let textWord = 0;
      let textSlot2 = -1;
      let textWord2 = 0;

      for (;;) {
        let opcode = buf[q]!;
        // Signed here and below: to compare an unsigned index with a count, V8 makes doubles of both.
        let index: number;
        if (opcode === 0x6a) {
          index = view.getInt32(q + 1, true);
          q += 5;
        } else if (opcode === 0x68) {
          index = buf[q + 1]!;
          q += 2;
        } else if (opcode === 0x75) break;
        else break entries;
        if (q > limit || index < 0 || index >= memoCount) break entries;
        const word = memo[index]!;
        const keyText = word & 0xfffffff;
        if (word >>> 28 !== STR || keyText >= knownTexts) break entries;
        const key = keyOfText[keyText]!;
        const keyBit = 1 << key;
        if ((bits & keyBit) !== 0) break entries;
        bits |= keyBit;
        opcode = buf[q]!;
        if (key >= KEY.addr && key <= KEY.time_us) {
          let low: number;
          let high = 0;
          if (opcode === 0x8a) {
            const length = buf[q + 1]!;
            low = view.getInt32(q + 2, true);
            if (length === 6) {
              high = view.getInt16(q + 6, true);
              q += 8;
            } else if (length === 7) {
              high = view.getInt32(q + 5, true) >> 8;
              q += 9;
            } else if (length === 5) {
              high = view.getInt8(q + 6);
              q += 7;
            } else break entries;
          } else if (opcode === 0x4b) {
            low = buf[q + 1]!;
            q += 2;
          } else if (opcode === 0x4d) {
            low = view.getUint16(q + 1, true);
            q += 3;
          } else if (opcode === 0x4a) {
            low = view.getInt32(q + 1, true);
            high = low >> 31;
            q += 5;
          } else break entries;
          if (key === KEY.addr) {
            addrLow = low;
            addrHigh = high;
          } else if (key === KEY.size) {
            if (high < 0 || high >= MAX_SIZE_HIGH) break entries;
            sizeLow = low;
            sizeHigh = high;
          } else if (key === KEY.stream) {
            streamLow = low;
            streamHigh = high;
          } else {
            timeLow = low;
            timeHigh = high;
          }
        } else if (key === KEY.frames) {
          if (opcode === 0x5d) {
            if (buf[q + 1] !== 0x94) break entries;
            q += 2;
            listSlot = slot++;
            stack = 0;
            if (buf[q] === 0x28) {
              q += 1;
              let hit = false;
              if (predict) {
                const guess = nextStack[lastStack]!;
                const length = predictLengths[guess]!;
                tries += 1;
                if (length > 0 && q + length < limit) {
                  const offset = predictOffsets[guess]!;
                  let i = 0;
                  const wholeWords = length - 3;
                  while (i < wholeWords && view.getInt32(q + i, true) === predictView.getInt32(offset + i, true))
                    i += 4;
                  if (i >= wholeWords) {
                    while (i < length && buf[q + i] === predictPool[offset + i]) i++;
                    if (i === length) {
                      hit = true;
                      stack = guess;
                      q += length;
                      hits += 1;
                    }
                  }
                }
              }
              if (!hit) {
                const bodyStart = q;
                let depth = 0;
                let hash = STACK_HASH_START;
                for (;;) {
                  const get = buf[q]!;
                  let frameIndex: number;
                  if (get === 0x6a) {
                    frameIndex = view.getInt32(q + 1, true);
                    q += 5;
                  } else if (get === 0x68) {
                    frameIndex = buf[q + 1]!;
                    q += 2;
                  } else if (get === 0x65) {
                    q += 1;
                    break;
                  } else break entries;
                  if (q > limit || frameIndex < 0 || frameIndex >= memoCount) break entries;
                  const frameWord = memo[frameIndex]!;
                  if (frameWord >>> 28 !== FRAME || depth >= LIMITS.stackFrames) break entries;
                  const frame = frameWord & 0xfffffff;
                  frames[depth++] = frame;
                  hash = mixFrame(hash, frame);
                }
                if (dictionary.pooledFrames + depth > LIMITS.pooledFrames) break entries;
                stack = dictionary.internStack(frames, depth, hash);
                if (predict) {
                  if (stack >= nextStack.length) {
                    this.nextStack = nextStack = doubled(nextStack, stack + 1);
                    this.predictLengths = predictLengths = doubled(predictLengths, stack + 1);
                    this.predictOffsets = predictOffsets = doubled(predictOffsets, stack + 1);
                  }
                  const length = q - bodyStart;
                  if (predictLengths[stack] === 0 && this.predictUsed + length <= PREDICT_POOL_BYTES) {
                    if (this.predictUsed + length > predictPool.length) {
                      const grown = Buffer.allocUnsafeSlow(predictPool.length * 2 + length);
                      predictPool.copy(grown, 0, 0, this.predictUsed);
                      this.predictPool = predictPool = grown;
                      this.predictView = predictView = new DataView(grown.buffer, grown.byteOffset, grown.length);
                    }
                    buf.copy(predictPool, this.predictUsed, bodyStart, q);
                    predictOffsets[stack] = this.predictUsed;
                    predictLengths[stack] = length;
                    this.predictUsed += length;
                  }
                  nextStack[lastStack] = stack;
                }
              }
              lastStack = stack;
            } else if (buf[q] === 0x6a || buf[q] === 0x68) {
              // One frame only: BINGET APPEND.
              const wide = buf[q] === 0x6a;
              const frameIndex = wide ? view.getInt32(q + 1, true) : buf[q + 1]!;
              const after = q + (wide ? 5 : 2);
              if (buf[after] === 0x61) {
                if (frameIndex < 0 || frameIndex >= memoCount) break entries;
                const frameWord = memo[frameIndex]!;
                if (frameWord >>> 28 !== FRAME) break entries;
                frames[0] = frameWord & 0xfffffff;
                stack = dictionary.internStack(frames, 1, mixFrame(STACK_HASH_START, frameWord & 0xfffffff));
                q = after + 1;
              }
            }
          } else {
            let frameList: number;
            if (opcode === 0x6a) {
              frameList = view.getInt32(q + 1, true);
              q += 5;
            } else if (opcode === 0x68) {
              frameList = buf[q + 1]!;
              q += 2;
            } else break entries;
            if (frameList < 0 || frameList >= memoCount) break entries;
            const listWord = memo[frameList]!;
            if (listWord >>> 28 === STACK) stack = listWord & 0xfffffff;
            else if (listWord >>> 28 === LIST) stack = 0;
            else break entries;
          }
        } else if (key === KEY.action || key === KEY.compile_context || key === KEY.user_metadata) {
          let textValue: number;
          if (opcode === 0x6a || opcode === 0x68) {
            const wide = opcode === 0x6a;
            const textIndex = wide ? view.getInt32(q + 1, true) : buf[q + 1]!;
            q += wide ? 5 : 2;
            if (textIndex < 0 || textIndex >= memoCount) break entries;
            textValue = memo[textIndex]!;
          } else if (opcode === 0x8c) {
            const length = buf[q + 1]!;
            if (buf[q + 2 + length] !== 0x94) break entries;
            textValue = ((STR << 28) | texts.intern(buf, q + 2, length)) >>> 0;
            q += 3 + length;
            if (textSlot < 0) {
              textSlot = slot++;
              textWord = textValue;
            } else if (textSlot2 < 0) {
              textSlot2 = slot++;
              textWord2 = textValue;
            } else break entries;
          } else break entries;
          if (textValue >>> 28 !== STR) break entries;
          textValue &= 0xfffffff;
          if (key === KEY.action) action = textValue;
          else if (key === KEY.compile_context) context = textValue;
          else metadata = textValue;
        } else if (key === KEY.pool_id) {
          // (a, b) of two small ints, as torch 2.12+ writes for every entry.
          if (opcode === 0x4b && buf[q + 2] === 0x4b && buf[q + 4] === 0x86 && buf[q + 5] === 0x94) {
            pool = dictionary.internPool(buf[q + 1]!, buf[q + 3]!);
            poolSlot = slot++;
            q += 6;
          } else if (opcode === 0x6a || opcode === 0x68) {
            const wide = opcode === 0x6a;
            const poolIndex = wide ? view.getInt32(q + 1, true) : buf[q + 1]!;
            q += wide ? 5 : 2;
            if (poolIndex < 0 || poolIndex >= memoCount || memo[poolIndex]! >>> 28 !== PAIR) break entries;
            pool = memo[poolIndex]! & 0xfffffff;
          } else break entries;
        } else break entries;
      }

      if (action < 0 || action >= knownTexts || (bits & SIZE_BIT) === 0) break;
      const actionCode = actionOfText[action]!;
      if (actionCode >= OTHER_ACTION || actionCode === OOM_ACTION) break;
      memo[memoCount] = (ENTRY << 28) >>> 0;
      if (textSlot >= 0) memo[textSlot] = textWord;
      if (textSlot2 >= 0) memo[textSlot2] = textWord2;
      if (poolSlot >= 0) memo[poolSlot] = ((PAIR << 28) | pool) >>> 0;
      if (listSlot >= 0) memo[listSlot] = ((STACK << 28) | stack) >>> 0;
      memoCount = slot;
      seen |= bits;
      seenActions |= 1 << actionCode;
      p = q + 1;
      const pair = row << 1;
      colDevice[row] = device;
      colSeq[row] = seq;
      colAction[row] = actionCode;
      colAddr[pair] = addrLow;
      colAddr[pair + 1] = addrHigh;
      colSize[pair] = sizeLow;
      colSize[pair + 1] = sizeHigh;
      colStream[pair] = streamLow;
      colStream[pair + 1] = streamHigh;
      colTime[pair] = timeLow;
      colTime[pair + 1] = timeHigh;
      colPool[row] = pool;
      colStack[row] = stack;
      colContext[row] = context;
      colMetadata[row] = metadata;
      seq += 1;
      row += 1;
      if (row === lastRow) break;
    }

    const taken = seq - firstSeq;
    this.lastStack = lastStack;
    this.predictHits += hits;
    this.predictTries += tries;
    if (predict && this.predictTries > PREDICT_TRIES && this.predictHits < this.predictTries * PREDICT_MIN_RATE) {
      this.predict = false;
    }
    if (taken === 0) return start;
    this.memoCount = memoCount;
    this.traceLengths[device] = seq;
    this.fastEntries += taken;
    this.entryBits |= seen;
    this.actionBits |= seenActions;
    batch.rows = row;
    if (row === lastRow) this.flushEvents();
    const below = this.sp - 1;
    if (below >= this.deviceMark && this.kinds[below] === ENTRY) this.payloads[below] = this.payloads[below]! + taken;
    else this.push(ENTRY, taken);
    return p;
  }

  /** Share of stacks predicted, for the statistics. */
  get predictedStacks(): number {
    return this.predictHits;
  }
}
