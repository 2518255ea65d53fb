/**
 * A streaming JSON scanner for snapshots that some tool converted: `json.dump` of the dict, mosaic's
 * `get_json_snapshot`, hand-made converters. It feeds the same value stack as the pickle machine, so that both
 * encodings share rows, checks and limits.
 *
 * Changes by converters that are accepted: tuples are lists; numbers may be floats (`12.0`, `1.7e9`), digits in quotes
 * or hexadecimal in quotes; a null means a missing key; NaN and Infinity are written as Python writes them.
 *
 * JSON lacks sharing: every stack is spelled out in full, 6 kB per entry, 32 times the bytes of the pickle. So the
 * time is spent on stacks, and most of it on comparing bytes with a guess (`raw-spellings.ts`): first the whole
 * `frames` array with those at similar places last time, then each frame with the one that followed this one last time,
 * then with all frames by hash. Entries take the general path.
 */
import type { ByteSource } from '../../src/model/parser.js';
import { unescapeJson } from './json-strings.js';
import { FRAME_MASK, KEY } from './keys.js';
import { RawSpellings, SPELLING_HASH_START } from './raw-spellings.js';
import { type SnapshotParts, SnapshotShapes } from './snapshot-shapes.js';
import { mixFrame, STACK_HASH_START } from './stack-dictionary.js';
import { CONST, DICT, FLOAT, FRAME, INT, LIMITS, LIST, OBJ, PAIR, STACK, STR } from './value-stack.js';

/** What may come next. */
const VALUE = 0;
const FIRST_ITEM = 1;
const FIRST_KEY = 2;
const NEXT_KEY = 3;
const AFTER_VALUE = 4;
const END = 5;

/** The scanner is entered anew this often, so that V8 replaces code that it has optimised meanwhile. */
const SLICE_BYTES = 262_144;
const FRAME_POOL_BYTES = 32 * 1024 * 1024;
const LIST_POOL_BYTES = 64 * 1024 * 1024;
const GUESS_MASK = 0xffff;
const PLACES = 2;
/** A frame up to its first closing brace; C++ names of templates reach 10 kB. */
const MAX_FRAME_BYTES = 65_536;
/** Generic lists are handed on in pieces, as pickles come. */
const LIST_BATCH = 1000;
/** Values outside of rows; they are kept as objects until the end. torch writes about 60. */
const MAX_LOOSE_VALUES = 1_000_000;
const MAX_NUMBER_CHARS = 400;
const MAX_INTEGER_DIGITS = 154;

/** Keys whose value is a number, whatever it is spelled as. */
const NUMERIC_KEYS = [
  'addr',
  'size',
  'stream',
  'time_us',
  'line',
  'address',
  'requested_size',
  'total_size',
  'allocated_size',
  'active_size',
  'device',
  'device_free',
  'real_size',
] as const;

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export class JsonMachine extends SnapshotShapes {
  /** Whole lists, and single frames in other lists, that were recognised by their bytes. */
  predictedStacks = 0;
  predictedFrames = 0;

  private state = VALUE;
  /** By depth: whether the container is a dict, and what it must leave behind of `bigs`, `objects` and `loose`. */
  private readonly isDict = new Uint8Array(LIMITS.markDepth + 1);
  private readonly bigsBefore = new Int32Array(LIMITS.markDepth + 1);
  private readonly objectsBefore = new Int32Array(LIMITS.markDepth + 1);
  private readonly looseBefore = new Int32Array(LIMITS.markDepth + 1);
  private loose = 0;
  /** By text id. */
  private readonly isNumeric = new Uint8Array(64);
  private readonly numericTexts: number;
  /** The last string held a backslash. */
  private escaped = false;
  private scratch = Buffer.alloc(1024);
  /** The last token goes on beyond the window. */
  private starved = false;

  private readonly frameSpellings = new RawSpellings(FRAME_POOL_BYTES);
  private readonly listSpellings = new RawSpellings(LIST_POOL_BYTES);
  private lastList = 0;
  /** Which list came last in a like place; see {@link JsonMachine.findPlaces}. */
  private readonly guesses = new Int32Array(GUESS_MASK + 1);
  private readonly places = new Int32Array(PLACES);
  private foundStack = 0;
  private foundFrame = 0;

  constructor(parts: SnapshotParts, windowBytes?: number) {
    super(parts, windowBytes);
    const { texts } = this.dictionary;
    for (const name of NUMERIC_KEYS) this.isNumeric[texts.internText(name)] = 1;
    this.numericTexts = texts.count;
  }

  /**
   * Reads the whole stream. `progress` gets the bytes read so far, once per window.
   *
   * @throws {MbfError} MBF2301 if it ends in the middle, MBF2302 if it is invalid JSON, MBF2105 and MBF2107 as for
   * pickles.
   */
  async run(source: ByteSource, progress?: (bytes: number) => void): Promise<void> {
    this.openWindow(source.sizeBytes);
    await this.fill(source, progress);
    if (this.buf[0] === 0xef && this.buf[1] === 0xbb && this.buf[2] === 0xbf) this.pos = 3; // a byte order mark
    for (;;) {
      await this.fill(source, progress);
      this.starved = false;
      this.exec(this.eof ? this.end : Math.min(this.end, this.pos + SLICE_BYTES));
      this.checkTexts();
      if (!this.eof || (!this.starved && this.pos < this.end)) continue;
      if (this.state !== END) this.fail('MBF2301', 'the JSON ends in the middle', this.end);
      break;
    }
    this.finish();
  }

  /** Reads tokens that begin before `limit`, or until one goes on beyond the window. */
  private exec(limit: number): void {
    const { buf, end } = this;
    let p = this.pos;
    let state = this.state;
    /** Number of the key whose value comes, 0 for an unknown one and in lists; and whether its value is a number. */
    let key = 0;
    let numeric = false;
    if (state === VALUE && this.markDepth > 0 && this.isDict[this.markDepth - 1] === 1) {
      const text = this.payloads[this.sp - 1]!;
      key = this.keyNumber(text);
      numeric = text < this.numericTexts && this.isNumeric[text] === 1;
    }
    for (;;) {
      let c = buf[p]!;
      while (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) c = buf[++p]!;
      if (p >= limit) break;
      if (state === AFTER_VALUE) {
        const depth = this.markDepth - 1;
        if (this.isDict[depth] === 1) {
          if (c === 0x2c) state = NEXT_KEY;
          else if (c === 0x7d) {
            this.pos = p;
            this.closeDict();
            state = depth === 0 ? END : AFTER_VALUE;
          } else this.fail('MBF2302', `${nameOf(c)} where a comma or the end of an object is due`, p);
        } else if (c === 0x2c) {
          if (this.sp - this.marks[depth]! >= LIST_BATCH) {
            this.pos = p;
            this.flushList();
          }
          state = VALUE;
          key = 0;
          numeric = false;
        } else if (c === 0x5d) {
          this.pos = p;
          this.closeList();
          state = depth === 0 ? END : AFTER_VALUE;
        } else this.fail('MBF2302', `${nameOf(c)} where a comma or the end of a list is due`, p);
        p += 1;
        continue;
      }
      if (this.sp > this.kinds.length - 8) this.growStack(p);
      if (state === NEXT_KEY || state === FIRST_KEY) {
        if (c === 0x7d && state === FIRST_KEY) {
          this.pos = p;
          this.closeDict();
          state = this.markDepth === 0 ? END : AFTER_VALUE;
          p += 1;
          continue;
        }
        if (c !== 0x22) this.fail('MBF2302', `${nameOf(c)} where a key is due`, p);
        const close = this.stringEnd(p + 1);
        if (close < 0) {
          this.starve(p);
          break;
        }
        let q = close + 1;
        while (buf[q] === 0x20 || buf[q] === 0x0a || buf[q] === 0x0d || buf[q] === 0x09) q += 1;
        if (buf[q] !== 0x3a) {
          if (q < end) this.fail('MBF2302', `${nameOf(buf[q]!)} where a colon is due`, q);
          this.starve(p);
          break;
        }
        const text = this.stringId(p + 1, close);
        this.push(STR, text);
        key = this.keyNumber(text);
        numeric = text < this.numericTexts && this.isNumeric[text] === 1;
        state = VALUE;
        p = q + 1;
        continue;
      }
      if (state === END) this.fail('MBF2302', `${nameOf(c)} behind the end of the JSON`, p);
      // A value, or the end of an empty list.
      const after = this.markDepth === 0 ? END : AFTER_VALUE;
      if (c === 0x22) {
        const close = this.stringEnd(p + 1);
        if (close < 0) {
          this.starve(p);
          break;
        }
        if (!numeric || this.escaped || !this.numberInQuotes(p + 1, close)) this.push(STR, this.stringId(p + 1, close));
        state = after;
        p = close + 1;
      } else if (c === 0x7b) {
        this.push(DICT, 0);
        this.open(1, p);
        state = FIRST_KEY;
        p += 1;
      } else if (c === 0x5b) {
        if (key === KEY.frames) {
          const next = this.frameList(p);
          if (next > 0) {
            this.push(STACK, this.foundStack);
            state = after;
            p = next;
            continue;
          }
          if (this.starved && !this.eof && (end - p) * 4 < buf.length) {
            this.starve(p);
            break;
          }
          this.starved = false;
        }
        this.push(LIST, 0);
        this.open(0, p);
        state = FIRST_ITEM;
        key = 0;
        numeric = false;
        p += 1;
      } else if (c === 0x5d && state === FIRST_ITEM) {
        this.pos = p;
        this.closeList();
        state = this.markDepth === 0 ? END : AFTER_VALUE;
        p += 1;
      } else {
        let q = p;
        if (c === 0x2d) q += 1;
        const first = q;
        let value = 0;
        let digit = buf[q]! - 0x30;
        while (digit >= 0 && digit <= 9) {
          value = value * 10 + digit;
          digit = buf[++q]! - 0x30;
        }
        const next = buf[q]!;
        const plain = next !== 0x2e && (next | 0x20) !== 0x65 && (buf[first] !== 0x30 || q === first + 1);
        // Sixteen digits may pass 2^53; a sum below it was exact all the way.
        if (plain && q > first && q - first <= 16 && value <= Number.MAX_SAFE_INTEGER && q < end) {
          this.push(INT, 0);
          this.numbers[this.sp - 1] = c === 0x2d && value !== 0 ? -value : value;
        } else {
          q = this.rareScalar(p, c, key, numeric);
          if (q < 0) {
            this.starve(p);
            break;
          }
        }
        state = after;
        p = q;
      }
    }
    this.pos = p;
    this.state = state;
  }

  private keyNumber(text: number): number {
    return text < this.knownTexts ? this.keyOfText[text]! : 0;
  }

  /** Asks for more than the window holds from `p` on. */
  private starve(p: number): void {
    const held = this.end - p;
    if (held > LIMITS.textBytes) this.fail('MBF2105', `a string of more than ${LIMITS.textBytes} bytes`, p);
    this.pos = p;
    this.starved = true;
    this.needed = held * 2 + 16;
  }

  // ------------------------------------------------------------------ containers

  private open(isDict: 0 | 1, p: number): void {
    const depth = this.markDepth;
    if (depth >= LIMITS.markDepth) this.fail('MBF2105', `nested deeper than ${LIMITS.markDepth}`, p);
    this.isDict[depth] = isDict;
    this.bigsBefore[depth] = this.bigs.length;
    this.objectsBefore[depth] = this.objects.length;
    this.looseBefore[depth] = this.loose;
    this.marks[depth] = this.sp;
    this.markDepth = depth + 1;
  }

  private closeDict(): void {
    const { payloads } = this;
    const depth = --this.markDepth;
    const mark = this.marks[depth]!;
    const target = mark - 1;
    if (this.sp > mark) {
      let bits = 0;
      let unknown = 0;
      for (let slot = mark; slot < this.sp; slot += 2) {
        const key = this.keyNumber(payloads[slot]!);
        if (key === 0) unknown += 1;
        else {
          if ((bits & (1 << key)) !== 0) this.failTwice(payloads[slot]!);
          bits |= 1 << key;
        }
      }
      if (unknown > 1) this.checkUnknownKeys(mark);
      const values = this.sp - mark;
      // The parent's mark bounds the run of rows this one may join.
      this.setItems(mark);
      if (this.kinds[target] === OBJ) this.countLoose(values);
    }
    this.bigs.length = this.bigsBefore[depth]!;
    if (this.sp <= target || this.kinds[target] !== OBJ) {
      // A row or a frame: what hung on it is in columns or JSON text by now.
      this.objects.length = this.objectsBefore[depth]!;
      this.loose = this.looseBefore[depth]!;
    }
  }

  private checkUnknownKeys(mark: number): void {
    const seen = new Set<number>();
    for (let slot = mark; slot < this.sp; slot += 2) {
      const text = this.payloads[slot]!;
      if (seen.has(text)) this.failTwice(text);
      seen.add(text);
    }
  }

  private failTwice(text: number): never {
    return this.fail(
      'MBF2302',
      `an object with two values for ${JSON.stringify(this.dictionary.text(text).slice(0, 80))}`,
    );
  }

  private closeList(): void {
    const depth = --this.markDepth;
    const mark = this.marks[depth]!;
    if (this.sp === mark) return;
    if (this.isPool(mark, depth)) {
      const { numbers } = this;
      const pool = this.dictionary.internPool(numbers[mark]!, numbers[mark + 1]!);
      if (this.dictionary.poolCount > LIMITS.pools) this.fail('MBF2105', `more than ${LIMITS.pools} pool ids`);
      this.sp = mark - 1;
      this.push(PAIR, pool);
      return;
    }
    const values = this.sp - mark;
    this.appends(mark);
    if (this.kinds[mark - 1] === OBJ) this.countLoose(values);
    this.bigs.length = this.bigsBefore[depth]!;
  }

  /** What a long list of no rows holds so far. Frames stay together: a stack is found whole. */
  private flushList(): void {
    const mark = this.marks[this.markDepth - 1]!;
    if (this.kinds[mark] === FRAME) return;
    const values = this.sp - mark;
    this.appends(mark);
    if (this.kinds[mark - 1] === OBJ) this.countLoose(values);
  }

  private countLoose(values: number): void {
    this.loose += values;
    if (this.loose > MAX_LOOSE_VALUES)
      this.fail('MBF2105', `more than ${MAX_LOOSE_VALUES} values that do not belong to a snapshot`);
  }

  /**
   * Whether the list above `mark` is the pair of numbers that a pickle has as a tuple. Numbers in quotes become
   * numbers.
   */
  private isPool(mark: number, depth: number): boolean {
    if (this.sp - mark !== 2 || depth === 0 || this.isDict[depth - 1] !== 1) return false;
    const key = this.keyNumber(this.payloads[mark - 2]!);
    if (key !== KEY.pool_id && key !== KEY.segment_pool_id) return false;
    for (let slot = mark; slot < mark + 2; slot++) {
      if (this.kinds[slot] === STR) {
        const text = this.dictionary.text(this.payloads[slot]!);
        if (!/^-?\d{1,15}$/.test(text)) return false;
        this.kinds[slot] = INT;
        this.numbers[slot] = Number(text);
      } else if (this.kinds[slot] === FLOAT && Number.isSafeInteger(this.numbers[slot])) this.kinds[slot] = INT;
      if (this.kinds[slot] !== INT) return false;
    }
    return true;
  }

  // ------------------------------------------------------------------ scalars

  /** The closing quote of the string whose body begins at `q`, or −1 if it is beyond the window. */
  private stringEnd(q: number): number {
    const { buf } = this;
    let escaped = false;
    for (;;) {
      const c = buf[q]!;
      if (c === 0x22) break;
      if (c === 0x5c) {
        escaped = true;
        q += 2;
      } else {
        if (c < 0x20) {
          if (q >= this.end) return -1;
          this.fail('MBF2302', `control character 0x${c.toString(16).padStart(2, '0')} in a string`, q);
        }
        q += 1;
      }
    }
    if (q >= this.end) return -1;
    this.escaped = escaped;
    return q;
  }

  /** The id of the string `[start, close)` that {@link stringEnd} has just found. */
  private stringId(start: number, close: number): number {
    const length = close - start;
    if (length > LIMITS.textBytes) this.fail('MBF2105', `a string of ${length} bytes`, start);
    const { texts } = this.dictionary;
    if (!this.escaped) return texts.intern(this.buf, start, length);
    if (this.scratch.length < length) this.scratch = Buffer.alloc(length * 2);
    const unescaped = unescapeJson(this.buf, start, close, this.scratch);
    if (typeof unescaped !== 'number') this.fail('MBF2302', unescaped.what, unescaped.at);
    return texts.intern(this.scratch, 0, unescaped);
  }

  /**
   * Long, fractional and special numbers, and the three words. Returns the position after it, or −1 if that is beyond
   * the window.
   */
  private rareScalar(p: number, c: number, key: number, numeric: boolean): number {
    switch (c) {
      case 0x6e: {
        const next = this.word(p, 'null');
        // As if the key were not there; unknown keys keep it.
        if (next > 0 && key !== 0) this.sp -= 1;
        else if (next > 0) this.push(CONST, 0);
        return next;
      }
      case 0x66:
      case 0x74: {
        const next = this.word(p, c === 0x74 ? 'true' : 'false');
        if (next > 0) this.push(CONST, c === 0x74 ? 2 : 1);
        return next;
      }
      case 0x4e:
      case 0x49: {
        const next = this.word(p, c === 0x4e ? 'NaN' : 'Infinity');
        if (next > 0) this.pushFloat(c === 0x4e ? Number.NaN : Number.POSITIVE_INFINITY);
        return next;
      }
    }
    if (c !== 0x2d && (c < 0x30 || c > 0x39)) this.fail('MBF2302', `${nameOf(c)} where a value is due`, p);
    if (c === 0x2d && this.buf[p + 1] === 0x49) {
      const next = this.word(p + 1, 'Infinity');
      if (next > 0) this.pushFloat(Number.NEGATIVE_INFINITY);
      return next;
    }
    let q = p + 1;
    while (isNumberByte(this.buf[q]!) && q - p <= MAX_NUMBER_CHARS) q += 1;
    if (q - p > MAX_NUMBER_CHARS) this.fail('MBF2105', `a number of more than ${MAX_NUMBER_CHARS} characters`, p);
    if (q >= this.end && !this.eof) return -1;
    const text = this.buf.toString('latin1', p, q);
    if (!JSON_NUMBER.test(text)) {
      if (q >= this.end) return -1;
      this.fail('MBF2302', `${JSON.stringify(text.slice(0, 40))} is not a number`, p);
    }
    this.pushNumber(text, numeric, p);
    return q;
  }

  private word(p: number, word: string): number {
    const actual = this.buf.toString('latin1', p, Math.min(p + word.length, this.end));
    if (actual === word) return p + word.length;
    if (p + actual.length < this.end || !word.startsWith(actual))
      this.fail('MBF2302', `${nameOf(this.buf[p]!)} where a value is due`, p);
    return -1;
  }

  private pushFloat(value: number): void {
    this.push(FLOAT, 0);
    this.numbers[this.sp - 1] = value;
  }

  /** `numeric`: the key wants an integer, so that a fraction of nothing is none. */
  private pushNumber(text: string, numeric: boolean, p: number): void {
    const integerMatch = /^(-?\d+)(?:\.0+)?$/.exec(text);
    if (integerMatch !== null && (numeric || !text.includes('.'))) {
      if (integerMatch[1]!.length > MAX_INTEGER_DIGITS)
        this.fail('MBF2105', `an integer of ${integerMatch[1]!.length} digits`, p);
      this.pushInteger(BigInt(integerMatch[1]!));
      return;
    }
    const value = Number(text);
    if (numeric && Number.isSafeInteger(value)) {
      this.push(INT, 0);
      this.numbers[this.sp - 1] = value;
    } else this.pushFloat(value);
  }

  /** Pushes the number that a string spells, `"0x7f00"` and `"512"` alike; false if it spells none. */
  private numberInQuotes(start: number, close: number): boolean {
    if (close - start > 64) return false;
    const text = this.buf.toString('latin1', start, close);
    if (/^0[xX][0-9a-fA-F]{1,16}$/.test(text)) this.pushInteger(BigInt(text));
    else if (JSON_NUMBER.test(text)) this.pushNumber(text, true, start);
    else return false;
    return true;
  }

  // ------------------------------------------------------------------ stacks

  /**
   * Reads the list of frames whose bracket is at `start`, and leaves its stack in `foundStack`. Returns the position
   * after it, or −1 for the general path: an empty list, items other than plain frames, or (with `starved`) a list that
   * extends beyond the window.
   */
  private frameList(start: number): number {
    const { buf, view, end, dictionary, frames, frameSpellings, listSpellings } = this;
    const { places, guesses } = this;
    this.findPlaces();
    for (let n = 0; n < PLACES; n++) {
      const guess = guesses[places[n]!]!;
      if (guess !== 0 && listSpellings.matchesLong(guess, buf, start, end)) {
        this.predictedStacks += 1;
        this.expectNext(guess);
        this.foundStack = listSpellings.value(guess);
        return start + listSpellings.length(guess);
      }
    }
    let depth = 0;
    let hash = STACK_HASH_START;
    let previous = 0;
    let hits = 0;
    let q = start + 1;
    for (;;) {
      while (buf[q] === 0x20 || buf[q] === 0x0a || buf[q] === 0x0d || buf[q] === 0x09) q += 1;
      if (buf[q] !== 0x7b) return this.oddList(q);
      let spelling = frameSpellings.follower(previous);
      let frame: number;
      if (spelling !== 0 && frameSpellings.matchesShort(spelling, view, q, end)) {
        frame = frameSpellings.value(spelling);
        q += frameSpellings.length(spelling);
        hits += 1;
      } else {
        let rawHash = SPELLING_HASH_START;
        let at = q;
        let c = buf[at]!;
        const last = Math.min(end, q + MAX_FRAME_BYTES);
        while (c !== 0x7d && at < last) {
          rawHash = Math.imul(rawHash ^ c, 0x01000193) ^ (rawHash >>> 15);
          c = buf[++at]!;
        }
        if (at >= last) return this.oddList(at);
        spelling = frameSpellings.find(rawHash, view, q, end);
        if (spelling !== 0) {
          frame = frameSpellings.value(spelling);
          q += frameSpellings.length(spelling);
          hits += 1;
        } else {
          const next = this.plainFrame(q);
          if (next < 0) return -1;
          frame = this.foundFrame;
          spelling = frameSpellings.add(rawHash, buf, q, next, frame);
          q = next;
        }
        frameSpellings.setFollower(previous, spelling);
      }
      previous = spelling;
      if (depth >= LIMITS.stackFrames) this.fail('MBF2105', `a stack of more than ${LIMITS.stackFrames} frames`, q);
      frames[depth++] = frame;
      hash = mixFrame(hash, frame);
      while (buf[q] === 0x20 || buf[q] === 0x0a || buf[q] === 0x0d || buf[q] === 0x09) q += 1;
      if (buf[q] === 0x5d) break;
      if (buf[q] !== 0x2c) return this.oddList(q);
      q += 1;
    }
    q += 1;
    if (q > end) return this.oddList(q);
    if (dictionary.pooledFrames + depth > LIMITS.pooledFrames)
      this.fail('MBF2105', `stacks of more than ${LIMITS.pooledFrames} frames altogether`, q);
    const stack = dictionary.internStack(frames, depth, hash);
    // Of one stack there are few spellings: the indentation of entries and that of blocks.
    const listHash = hash ^ (q - start);
    let list = listSpellings.findValue(listHash, stack);
    if (list === 0) list = listSpellings.add(listHash, buf, start, q, stack);
    this.expectNext(list);
    this.foundStack = stack;
    this.predictedFrames += hits;
    return q;
  }

  /**
   * Positions of the guesses for the next list: one by the list before it and the action of its entry (a free is
   * followed by its completion, which has the same stack, and then by something else), one by action and size. Every
   * guess is verified.
   */
  private findPlaces(): void {
    const { kinds, payloads, numbers } = this;
    let action = 0;
    let size = 0;
    for (let slot = this.markDepth === 0 ? this.sp : this.marks[this.markDepth - 1]!; slot + 1 < this.sp; slot += 2) {
      const key = this.keyNumber(payloads[slot]!);
      if (key === KEY.action) action = payloads[slot + 1]!;
      else if (key === KEY.size && kinds[slot + 1] === INT) size = numbers[slot + 1]!;
    }
    this.places[0] = mixFrame(mixFrame(STACK_HASH_START, this.lastList), action) & GUESS_MASK;
    this.places[1] = mixFrame(mixFrame(STACK_HASH_START ^ 0x5bd1, size | 0), action) & GUESS_MASK;
  }

  private expectNext(list: number): void {
    for (let n = 0; n < PLACES; n++) this.guesses[this.places[n]!] = list;
    this.lastList = list;
  }

  private oddList(at: number): number {
    this.starved = at >= this.end;
    return -1;
  }

  /**
   * Reads one frame of name, filename and line, and any other keys with plain values. Returns the position behind it,
   * or −1.
   */
  private plainFrame(start: number): number {
    const { buf, dictionary } = this;
    let name = -1;
    let filename = -1;
    let line = 0;
    let bits = 0;
    let extras: number[] | undefined;
    let q = start + 1;
    for (;;) {
      while (buf[q] === 0x20 || buf[q] === 0x0a || buf[q] === 0x0d || buf[q] === 0x09) q += 1;
      if (buf[q] !== 0x22) return this.oddList(q);
      let close = this.stringEnd(q + 1);
      if (close < 0) return this.oddList(this.end);
      const text = this.stringId(q + 1, close);
      const key = this.keyNumber(text);
      q = close + 1;
      while (buf[q] === 0x20 || buf[q] === 0x0a || buf[q] === 0x0d || buf[q] === 0x09) q += 1;
      if (buf[q] !== 0x3a) return this.oddList(q);
      q += 1;
      while (buf[q] === 0x20 || buf[q] === 0x0a || buf[q] === 0x0d || buf[q] === 0x09) q += 1;
      if (key === KEY.name || key === KEY.filename) {
        if (buf[q] !== 0x22) return this.oddList(q);
        close = this.stringEnd(q + 1);
        if (close < 0) return this.oddList(this.end);
        if (key === KEY.name) name = this.stringId(q + 1, close);
        else filename = this.stringId(q + 1, close);
        q = close + 1;
      } else if (key === KEY.line) {
        const first = q;
        line = 0;
        for (let digit = buf[q]! - 0x30; digit >= 0 && digit <= 9; digit = buf[++q]! - 0x30) line = line * 10 + digit;
        if (q === first || q - first > 10 || (buf[first] === 0x30 && q > first + 1)) return this.oddList(q);
        if (line > 0x7fffffff) line = 0; // as for every encoding: torch's "unknown"
      } else {
        if (key !== 0 || buf[q] !== 0x22) return this.oddList(q);
        close = this.stringEnd(q + 1);
        if (close < 0) return this.oddList(this.end);
        if (this.escaped) return -1; // whose escapes the general way checks
        q = close + 1;
        extras ??= [];
        if (extras.includes(text)) return -1;
        extras.push(text);
      }
      if (key !== 0) {
        if ((bits & (1 << key)) !== 0) return -1;
        bits |= 1 << key;
      }
      while (buf[q] === 0x20 || buf[q] === 0x0a || buf[q] === 0x0d || buf[q] === 0x09) q += 1;
      if (buf[q] === 0x7d) break;
      if (buf[q] !== 0x2c) return this.oddList(q);
      q += 1;
    }
    if (bits !== FRAME_MASK) return -1;
    if (dictionary.frameCount >= LIMITS.frames) this.fail('MBF2105', `more than ${LIMITS.frames} frames`, start);
    if (extras !== undefined) for (const text of extras) this.countFrameExtra(dictionary.text(text));
    this.foundFrame = dictionary.internFrame(name, filename, line);
    return q + 1;
  }
}

function isNumberByte(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || c === 0x2d || c === 0x2b || c === 0x2e || (c | 0x20) === 0x65;
}

function nameOf(c: number): string {
  return c > 0x20 && c < 0x7f ? `"${String.fromCharCode(c)}"` : `byte 0x${c.toString(16).padStart(2, '0')}`;
}
