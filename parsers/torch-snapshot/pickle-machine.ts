/**
 * A restricted, streaming pickle machine (protocols 2–5) that builds no objects on the hot path.
 *
 * Upstream: CPython `Lib/pickle.py`, `Lib/pickletools.py`. What makes it safe is its shape: opcodes that import, call
 * or build are not implemented at all, so nothing in a file can run; and every size a file states is checked against a
 * limit before anything is allocated.
 *
 * What makes it fast (measured on a 930 MB file of 5M entries, against 27.7 s of `pickle.load`):
 * - consecutive trace entries are read by a WebAssembly module (`snapshot-machine.ts`); the window of the file, the
 *   memo and the batch of events are in its memory;
 * - the value stack is four parallel typed arrays, the memo one `Uint32Array` of 4-bit kind and 28-bit payload (13M
 *   slots = 53 MB);
 * - containers are memoised before they are filled, so a stack slot remembers its memo index and the memo word is
 *   patched when the
 *   dict turns out to be a frame or the list a stack;
 * - rows of one kind that follow each other on the stack collapse into one slot with a count;
 * - `exec` is called per slice with rare opcodes in methods of their own: one big closure-laden loop was 2–3 times
 *   slower, since V8 threw
 *   its optimised code away at every rare branch.
 *
 * The class and the size of this file are that measurement's price.
 */
import { type ErrorCode, MbfError } from '../../src/model/errors.js';
import type { ByteSource } from '../../src/model/parser.js';
import { OPERAND_BYTES, REFUSED, UNSUPPORTED } from './opcodes.js';
import { SnapshotShapes } from './snapshot-shapes.js';
import {
  CONST,
  DICT,
  ENTRY,
  FLOAT,
  INT,
  KIND_SHIFT,
  LIMITS,
  LIST,
  OBJ,
  PAIR,
  PAYLOAD,
  ROW_WORD,
  ROWS,
  STACK,
  STR,
} from './value-stack.js';

const MAX_SAFE = Number.MAX_SAFE_INTEGER;
/** A slot that was jumped over: a constant that is none. */
const UNWRITTEN = 3;
/** `exec` starts no opcode in the last bytes of a window, so fixed-size operands never need a bounds check. */
const MARGIN_BYTES = 8192;
const SLICE_BYTES = 262_144;

export abstract class PickleMachine extends SnapshotShapes {
  protocol = -1;
  protected memoCount = 0;
  /** A slot was written twice, which no pickler does: equal bytes need not mean equal values any more. */
  protected memoOverwritten = false;
  /** Places in the module; 0 for none. */
  protected windowAt = 0;
  private windowLength = 0;
  protected memoAt = 0;
  protected memoSlots = 0;
  /** Memoised numbers; no known writer memoises them. */
  private readonly memoNumbers: number[] = [];
  protected done = false;
  /** Bytes after the STOP opcode. */
  trailingBytes = 0;

  /**
   * May take any number of whole dicts that start at `pos`; returns the new position (`pos` itself if it took none).
   */
  protected abstract fastPath(pos: number, end: number): number;

  /** Reads the whole stream. `progress` gets the bytes read so far, once a window. */
  async run(source: ByteSource, progress?: (bytes: number) => void): Promise<void> {
    // One memo slot per ~48 bytes is what torch's files need; untouched pages cost nothing, and growing copies.
    const expected = Math.ceil((source.sizeBytes ?? 0) / 48);
    this.sizeMemo(Math.max(1 << 14, Math.min(expected, 1 << 26)));
    this.openWindow(source.sizeBytes);
    while (!this.done) {
      await this.fill(source, progress);
      const limit = this.eof ? this.end : Math.min(this.end - MARGIN_BYTES, this.pos + SLICE_BYTES);
      this.exec(limit);
      this.checkTexts();
      if (this.done) break;
      if (this.eof && (this.pos >= this.end || this.needed > 0)) {
        throw new MbfError('MBF2101', 'the pickle ends in the middle: no STOP opcode', {
          offset: this.base + this.end,
        });
      }
    }
    if (this.pos > this.end) this.failCut();
    this.trailingBytes = this.end - this.pos;
    this.finish();
  }

  override close(): void {
    this.module.release(this.windowAt);
    this.module.release(this.memoAt);
    super.close();
  }

  protected override mapTables(): void {
    super.mapTables();
    const { buffer } = this.module;
    if (this.memoAt !== 0) this.memo = new Uint32Array(buffer, this.memoAt, this.memoSlots);
    if (this.windowAt !== 0) this.setWindow(Buffer.from(buffer, this.windowAt, this.windowLength));
  }

  protected override resized(bytes: number): Buffer {
    this.windowAt = this.module.reserve(bytes, this.windowAt);
    this.windowLength = bytes;
    this.mapTables();
    return this.buf;
  }

  private sizeMemo(slots: number): void {
    this.memoAt = this.module.reserve(slots * 4, this.memoAt);
    this.memoSlots = slots;
    this.mapTables();
  }

  protected override fail(code: ErrorCode, fact: string, pos = this.pos): never {
    // The file ends there, whatever the zeros after a cut operand would mean.
    if (this.eof && pos + 1 + (OPERAND_BYTES.get(this.buf[pos]!) ?? 0) > this.end) this.failCut();
    return super.fail(code, fact, pos);
  }

  private failCut(): never {
    throw new MbfError('MBF2101', 'the pickle ends in the middle of its last value', { offset: this.base + this.end });
  }

  /**
   * Runs the opcodes that start before `limit`, or until more bytes are needed, or the memory of the module has grown:
   * the arrays over it are others then.
   */
  private exec(limit: number): void {
    const { buf, view, memo, kinds, payloads, numbers, memoRefs } = this;
    const { texts } = this.dictionary;
    const spLimit = kinds.length - 8;
    let p = this.pos;
    while (p < limit && memo === this.memo) {
      if (this.sp > spLimit) {
        this.growStack(p);
        this.pos = p;
        return;
      }
      const opcode = buf[p]!;
      switch (opcode) {
        case 0x7d: {
          // EMPTY_DICT
          const next = this.fastPath(p, this.end);
          if (next !== p) p = next;
          else {
            this.push(DICT, 0);
            p += 1;
          }
          break;
        }
        case 0x5d: // EMPTY_LIST
          this.push(LIST, 0);
          p += 1;
          break;
        case 0x94: {
          // MEMOIZE
          if (this.memoCount >= memo.length) this.growMemo(p);
          this.memoise(this.memoCount, p);
          this.memoCount += 1;
          p += 1;
          break;
        }
        case 0x71: // BINPUT
          this.put(buf[p + 1]!, p);
          p += 2;
          break;
        case 0x72: // LONG_BINPUT
          this.put(view.getUint32(p + 1, true), p);
          p += 5;
          break;
        case 0x28: // MARK
          if (this.markDepth >= LIMITS.markDepth) this.fail('MBF2105', `nested deeper than ${LIMITS.markDepth}`, p);
          this.marks[this.markDepth++] = this.sp;
          p += 1;
          break;
        case 0x68: // BINGET
        case 0x6a: {
          // LONG_BINGET
          const index = opcode === 0x68 ? buf[p + 1]! : view.getUint32(p + 1, true);
          const word = index < this.memoCount ? memo[index]! : UNWRITTEN;
          if (word === UNWRITTEN) this.fail('MBF2104', `reads memo slot ${index}, which was never written`, p);
          const kind = word >>> KIND_SHIFT;
          const sp = this.sp++;
          kinds[sp] = kind;
          payloads[sp] = word & PAYLOAD;
          memoRefs[sp] = index;
          if (kind >= ENTRY && kind <= ROWS) this.fail('MBF2107', 'one row object is referred to twice', p);
          if (kind === INT || kind === FLOAT) numbers[sp] = this.memoNumbers[word & PAYLOAD]!;
          p += opcode === 0x68 ? 2 : 5;
          break;
        }
        case 0x8c: // SHORT_BINUNICODE
        case 0x58: {
          // BINUNICODE
          const header = opcode === 0x8c ? 2 : 5;
          const length = opcode === 0x8c ? buf[p + 1]! : view.getUint32(p + 1, true);
          if (p + header + length > this.end) {
            this.need(header + length, p);
            return;
          }
          this.push(STR, texts.intern(buf, p + header, length));
          p += header + length;
          break;
        }
        case 0x4b: {
          // BININT1
          const sp = this.sp++;
          kinds[sp] = INT;
          numbers[sp] = buf[p + 1]!;
          memoRefs[sp] = -1;
          p += 2;
          break;
        }
        case 0x4d: {
          // BININT2
          const sp = this.sp++;
          kinds[sp] = INT;
          numbers[sp] = view.getUint16(p + 1, true);
          memoRefs[sp] = -1;
          p += 3;
          break;
        }
        case 0x4a: {
          // BININT
          const sp = this.sp++;
          kinds[sp] = INT;
          numbers[sp] = view.getInt32(p + 1, true);
          memoRefs[sp] = -1;
          p += 5;
          break;
        }
        case 0x8a: {
          // LONG1
          const length = buf[p + 1]!;
          this.long(p + 2, length);
          p += 2 + length;
          break;
        }
        case 0x75: // SETITEMS
          this.pos = p;
          this.closeDict(this.popMark(p), p);
          p += 1;
          break;
        case 0x65: // APPENDS
          this.pos = p;
          this.closeList(this.popMark(p), p);
          p += 1;
          break;
        case 0x2e: // STOP
          this.pos = p + 1;
          if (this.sp !== 1 || this.markDepth !== 0)
            this.fail('MBF2104', `STOP with ${this.sp} values on the stack`, p);
          this.done = true;
          return;
        default: {
          this.pos = p;
          const next = this.execRare(opcode, p);
          if (next < 0) return;
          p = next;
        }
      }
    }
    this.pos = p;
  }

  /** Opcodes outside of entries. Returns the next position, or −1 if more bytes are needed. */
  private execRare(opcode: number, p: number): number {
    const { buf, view } = this;
    switch (opcode) {
      case 0x73: // SETITEM
        this.closeDict(this.sp - 2, p);
        return p + 1;
      case 0x61: // APPEND
        this.closeList(this.sp - 1, p);
        return p + 1;
      case 0x95: // FRAME: lengths are hints for buffered readers
        return p + 9;
      case 0x80: {
        // PROTO
        const protocol = buf[p + 1]!;
        if (protocol < 2 || protocol > 5) this.fail('MBF2103', `pickle protocol ${protocol}; readable are 2 to 5`, p);
        this.protocol = protocol;
        return p + 2;
      }
      case 0x47: // BINFLOAT
        this.push(FLOAT, 0);
        this.numbers[this.sp - 1] = view.getFloat64(p + 1, false);
        return p + 9;
      case 0x4e: // NONE
        this.push(CONST, 0);
        return p + 1;
      case 0x88: // NEWTRUE
        this.push(CONST, 2);
        return p + 1;
      case 0x89: // NEWFALSE
        this.push(CONST, 1);
        return p + 1;
      case 0x29: // EMPTY_TUPLE
        this.tuple(this.sp, p);
        return p + 1;
      case 0x85: // TUPLE1
      case 0x86: // TUPLE2
      case 0x87: // TUPLE3
        this.tuple(this.sp - (opcode - 0x84), p);
        return p + 1;
      case 0x74: // TUPLE
        this.tuple(this.popMark(p), p);
        return p + 1;
      case 0x6c: {
        // LIST
        const mark = this.popMark(p);
        this.insertContainer(mark, LIST);
        this.closeList(mark + 1, p);
        return p + 1;
      }
      case 0x64: {
        // DICT
        const mark = this.popMark(p);
        this.insertContainer(mark, DICT);
        this.closeDict(mark + 1, p);
        return p + 1;
      }
      case 0x8b: {
        // LONG4
        const length = view.getInt32(p + 1, true);
        if (length < 0 || length > LIMITS.integerBytes) this.fail('MBF2105', `an integer of ${length} bytes`, p);
        if (p + 5 + length > this.end) {
          this.need(5 + length, p);
          return -1;
        }
        this.long(p + 5, length);
        return p + 5 + length;
      }
      case 0x8d: {
        // BINUNICODE8
        const length = view.getUint32(p + 1, true) + view.getUint32(p + 5, true) * 4294967296;
        if (p + 9 + length > this.end) {
          this.need(9 + length, p);
          return -1;
        }
        this.push(STR, this.dictionary.texts.intern(buf, p + 9, length));
        return p + 9 + length;
      }
      case 0x30: // POP: of a value, or of a mark with nothing above it
        if (this.markDepth > 0 && this.marks[this.markDepth - 1] === this.sp) this.markDepth -= 1;
        else {
          this.requireValues(1, p);
          this.sp -= 1;
        }
        return p + 1;
      case 0x31: // POP_MARK
        this.sp = this.popMark(p);
        return p + 1;
      case 0x32: {
        // DUP
        this.requireValues(1, p);
        const top = this.sp - 1;
        const kind = this.kinds[top]!;
        if (kind >= ENTRY && kind <= ROWS) this.fail('MBF2107', 'one row object is referred to twice', p);
        this.push(kind, this.payloads[top]!);
        this.numbers[this.sp - 1] = this.numbers[top]!;
        this.memoRefs[this.sp - 1] = this.memoRefs[top]!;
        return p + 1;
      }
      default:
        return this.refuse(opcode, p);
    }
  }

  private refuse(opcode: number, p: number): never {
    const refused = REFUSED.get(opcode);
    if (refused !== undefined) this.fail('MBF2102', `refused opcode ${refused}: it can import or run code`, p);
    const unsupported = UNSUPPORTED.get(opcode);
    if (unsupported !== undefined) this.fail('MBF2103', `opcode ${unsupported} is not used by snapshot writers`, p);
    const hex = opcode.toString(16).padStart(2, '0');
    this.fail('MBF2104', `0x${hex} is not a pickle opcode: damaged, or not a pickle`, p);
  }

  /** Asks for `length` bytes from `p` on; the opcode there runs again once they are in the window. */
  private need(length: number, p: number): void {
    if (length > LIMITS.textBytes) this.fail('MBF2105', `a string of ${length} bytes`, p);
    this.pos = p;
    this.needed = length + 16;
  }
  protected growMemo(p: number): void {
    if (this.memoSlots >= LIMITS.memoSlots) this.fail('MBF2105', `more than ${LIMITS.memoSlots} memo slots`, p);
    this.sizeMemo(Math.min(this.memoSlots * 2, LIMITS.memoSlots));
  }

  private put(index: number, p: number): void {
    if (index > this.memoCount + LIMITS.memoJump) this.fail('MBF2105', `memo slot ${index} far beyond the last`, p);
    while (index >= this.memoSlots) this.growMemo(p);
    if (index < this.memoCount) this.memoOverwritten = true;
    else this.memo.fill(UNWRITTEN, this.memoCount, index);
    this.memoise(index, p);
    if (index >= this.memoCount) this.memoCount = index + 1;
  }

  private memoise(index: number, p: number): void {
    const top = this.sp - 1;
    if (top < 0) this.fail('MBF2104', 'memoises from an empty stack', p);
    const kind = this.kinds[top]!;
    let payload = this.payloads[top]!;
    if (kind === INT || kind === FLOAT) {
      if (this.memoNumbers.length >= LIMITS.objects)
        this.fail('MBF2105', `more than ${LIMITS.objects} memoised numbers`, p);
      payload = this.memoNumbers.push(this.numbers[top]!) - 1;
    }
    this.memo[index] = kind >= ENTRY && kind <= ROWS ? ROW_WORD : ((kind << KIND_SHIFT) | payload) >>> 0;
    this.memoRefs[top] = index;
  }

  private popMark(p: number): number {
    if (this.markDepth === 0) this.fail('MBF2104', 'closes a container that was never opened', p);
    const mark = this.marks[--this.markDepth]!;
    if (mark > this.sp) this.fail('MBF2104', 'stack underflow', p);
    return mark;
  }

  /** Fails unless that many values are above the innermost open mark. */
  private requireValues(count: number, p: number): void {
    const floor = this.markDepth > 0 ? this.marks[this.markDepth - 1]! : 0;
    if (this.sp - count < floor) this.fail('MBF2104', 'stack underflow', p);
  }

  private closeDict(mark: number, p: number): void {
    this.requireContainer(mark, p);
    const kind = this.kinds[mark - 1]!;
    if (kind !== DICT && !(kind === OBJ && !Array.isArray(this.objects[this.payloads[mark - 1]!]))) {
      this.fail('MBF2104', 'sets items of something that is not an open dict', p);
    }
    if ((this.sp - mark) % 2 !== 0) this.fail('MBF2104', 'a dict with a key but no value', p);
    if (this.sp > mark) this.setItems(mark);
  }

  private closeList(mark: number, p: number): void {
    this.requireContainer(mark, p);
    const kind = this.kinds[mark - 1]!;
    const open = kind === LIST || kind === STACK || kind === ROWS;
    if (!open && !(kind === OBJ && Array.isArray(this.objects[this.payloads[mark - 1]!]))) {
      this.fail('MBF2104', 'appends to something that is not an open list', p);
    }
    if (this.sp > mark) this.appends(mark);
  }

  private requireContainer(mark: number, p: number): void {
    const floor = this.markDepth > 0 ? this.marks[this.markDepth - 1]! : 0;
    if (mark - 1 < floor || mark > this.sp) this.fail('MBF2104', 'stack underflow', p);
  }

  /** Inserts the container of the protocol-0 style LIST and DICT opcodes at `mark`. */
  private insertContainer(mark: number, kind: number): void {
    this.push(CONST, 0);
    this.kinds.copyWithin(mark + 1, mark, this.sp - 1);
    this.payloads.copyWithin(mark + 1, mark, this.sp - 1);
    this.numbers.copyWithin(mark + 1, mark, this.sp - 1);
    this.memoRefs.copyWithin(mark + 1, mark, this.sp - 1);
    this.kinds[mark] = kind;
    this.payloads[mark] = 0;
    this.memoRefs[mark] = -1;
  }
  private tuple(mark: number, p: number): void {
    const floor = this.markDepth > 0 ? this.marks[this.markDepth - 1]! : 0;
    if (mark < floor || mark > this.sp) this.fail('MBF2104', 'stack underflow', p);
    const { kinds, numbers } = this;
    if (this.sp - mark === 2 && kinds[mark] === INT && kinds[mark + 1] === INT) {
      if (this.dictionary.poolCount >= LIMITS.pools)
        this.fail('MBF2105', `more than ${LIMITS.pools} pairs of integers`, p);
      const pool = this.dictionary.internPool(numbers[mark]!, numbers[mark + 1]!);
      this.sp = mark;
      this.push(PAIR, pool);
      return;
    }
    const items: unknown[] = [];
    for (let slot = mark; slot < this.sp; slot++) items.push(this.toValue(slot));
    this.sp = mark;
    this.push(OBJ, this.addObject(items));
  }

  /** A little-endian two's complement integer of `length` bytes at `p`. */
  private long(p: number, length: number): void {
    const { view } = this;
    let value: number;
    if (length === 6) value = view.getUint32(p, true) + view.getInt16(p + 4, true) * 4294967296;
    else if (length === 7) value = view.getUint32(p, true) + (view.getInt32(p + 3, true) >> 8) * 4294967296;
    else if (length === 5) value = view.getUint32(p, true) + view.getInt8(p + 4) * 4294967296;
    else {
      this.longBig(p, length);
      return;
    }
    if (value > MAX_SAFE || value < -MAX_SAFE) {
      this.longBig(p, length);
      return;
    }
    this.push(INT, 0);
    this.numbers[this.sp - 1] = value;
  }

  private longBig(p: number, length: number): void {
    if (length > LIMITS.integerBytes) this.fail('MBF2105', `an integer of ${length} bytes`, p);
    let value = 0n;
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.buf[p + i]!);
    this.pushInteger(BigInt.asIntN(length * 8, value));
  }
}
