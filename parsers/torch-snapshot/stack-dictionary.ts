/**
 * Strings, frames, stacks and pool ids of one snapshot, interned by content. torch shares frame dicts by code location
 * but makes a new list for every captured stack, so a million entries hold ~0.7 million lists of only a few thousand
 * distinct contents: identity (the pickle memo) is not enough.
 */
import type { Dictionary } from '../../src/model/parser.js';
import { doubled, TextInterner } from './text-interner.js';

const SEED = (Math.random() * 0x7fffffff) | 0;

/** The hash of an empty stack; every frame is mixed in by {@link mixFrame}. */
export const STACK_HASH_START = SEED ^ 0x12345;

/** One step of a stack's hash. Inlined by hand nowhere: V8 inlines it. */
export function mixFrame(hash: number, frame: number): number {
  const mixed = Math.imul(hash ^ frame, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

export class StackDictionary implements Dictionary {
  readonly texts = new TextInterner();

  private frameNames = new Int32Array(1 << 12);
  private frameFiles = new Int32Array(1 << 12);
  private frameLines = new Int32Array(1 << 12);
  private frameTable = new Int32Array(1 << 13).fill(-1);
  private frameMask = (1 << 13) - 1;
  frameCount = 0;

  private stackOffsets = new Uint32Array(1 << 12);
  private stackLengths = new Uint32Array(1 << 12);
  private stackHashes = new Int32Array(1 << 12);
  private stackTable = new Int32Array(1 << 13).fill(-1);
  private stackMask = (1 << 13) - 1;
  private stackPool = new Int32Array(1 << 16);
  private stackPoolUsed = 0;
  stackCount = 0;

  /** Frames of all stacks together: what a stack that grows frame by frame multiplies. */
  get pooledFrames(): number {
    return this.stackPoolUsed;
  }

  private readonly pools: (readonly [number, number])[] = [];
  private readonly poolIds = new Map<string, number>();

  constructor() {
    this.internStack(new Int32Array(0), 0, STACK_HASH_START);
  }

  get textCount(): number {
    return this.texts.count;
  }
  text(id: number): string {
    return this.texts.text(id);
  }

  frame(id: number): { name: number; filename: number; line: number } {
    return { name: this.frameNames[id]!, filename: this.frameFiles[id]!, line: this.frameLines[id]! };
  }

  stackFrames(id: number): Int32Array {
    const offset = this.stackOffsets[id]!;
    return this.stackPool.subarray(offset, offset + this.stackLengths[id]!);
  }

  get poolCount(): number {
    return this.pools.length;
  }
  pool(id: number): readonly [number, number] {
    return this.pools[id]!;
  }

  internPool(a: number, b: number): number {
    const key = `${a},${b}`;
    const known = this.poolIds.get(key);
    if (known !== undefined) return known;
    const id = this.pools.push([a, b]) - 1;
    this.poolIds.set(key, id);
    return id;
  }

  internFrame(name: number, filename: number, line: number): number {
    const { frameTable, frameMask } = this;
    let slot = frameHash(name, filename, line) & frameMask;
    for (;;) {
      const id = frameTable[slot]!;
      if (id < 0) break;
      if (this.frameNames[id] === name && this.frameFiles[id] === filename && this.frameLines[id] === line) return id;
      slot = (slot + 1) & frameMask;
    }
    const id = this.frameCount++;
    if (id === this.frameNames.length) {
      this.frameNames = doubled(this.frameNames);
      this.frameFiles = doubled(this.frameFiles);
      this.frameLines = doubled(this.frameLines);
    }
    this.frameNames[id] = name;
    this.frameFiles[id] = filename;
    this.frameLines[id] = line;
    frameTable[slot] = id;
    if (this.frameCount * 2 > frameMask) this.rehashFrames();
    return id;
  }

  private rehashFrames(): void {
    this.frameMask = this.frameMask * 2 + 1;
    this.frameTable = new Int32Array(this.frameMask + 1).fill(-1);
    for (let id = 0; id < this.frameCount; id++) {
      let slot = frameHash(this.frameNames[id]!, this.frameFiles[id]!, this.frameLines[id]!) & this.frameMask;
      while (this.frameTable[slot]! >= 0) slot = (slot + 1) & this.frameMask;
      this.frameTable[slot] = id;
    }
  }

  /** The id of the stack `frames[0, length)`, whose hash (see {@link mixFrame}) the caller computed while decoding. */
  internStack(frames: Int32Array, length: number, hash: number): number {
    const { stackTable, stackMask, stackPool, stackHashes, stackLengths, stackOffsets } = this;
    let slot = hash & stackMask;
    for (;;) {
      const id = stackTable[slot]!;
      if (id < 0) break;
      if (stackHashes[id] === hash && stackLengths[id] === length) {
        const offset = stackOffsets[id]!;
        let i = 0;
        while (i < length && stackPool[offset + i] === frames[i]) i++;
        if (i === length) return id;
      }
      slot = (slot + 1) & stackMask;
    }
    const id = this.stackCount++;
    if (id === this.stackOffsets.length) {
      this.stackOffsets = doubled(this.stackOffsets);
      this.stackLengths = doubled(this.stackLengths);
      this.stackHashes = doubled(this.stackHashes);
    }
    if (this.stackPoolUsed + length > this.stackPool.length) {
      this.stackPool = doubled(this.stackPool, this.stackPoolUsed + length);
    }
    this.stackPool.set(frames.subarray(0, length), this.stackPoolUsed);
    this.stackOffsets[id] = this.stackPoolUsed;
    this.stackLengths[id] = length;
    this.stackHashes[id] = hash;
    this.stackPoolUsed += length;
    stackTable[slot] = id;
    if (this.stackCount * 2 > stackMask) this.rehashStacks();
    return id;
  }

  private rehashStacks(): void {
    this.stackMask = this.stackMask * 2 + 1;
    this.stackTable = new Int32Array(this.stackMask + 1).fill(-1);
    for (let id = 0; id < this.stackCount; id++) {
      let slot = this.stackHashes[id]! & this.stackMask;
      while (this.stackTable[slot]! >= 0) slot = (slot + 1) & this.stackMask;
      this.stackTable[slot] = id;
    }
  }
}

function frameHash(name: number, filename: number, line: number): number {
  // In a chain from the secret seed: a sum of three products can be made to collide by choosing the line, whatever the
  // seed.
  return mixFrame(mixFrame(mixFrame(SEED, name), filename), line);
}
