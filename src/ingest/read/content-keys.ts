/**
 * The identity of a stack across files: a 128-bit key of its frames' texts, SHA-256 cut to half, so that no file can be
 * made to collide. Keys do not depend on the store, so they also compare stacks of two stores. They are computed where
 * the file is decoded, concurrently with the writer.
 */
import { hash } from 'node:crypto';
import type { Dictionary } from '../../model/parser.js';

const KEY_BYTES = 16;
const KEY_WORDS = KEY_BYTES / 4;
/** Characters of a key: lower-case hex. */
export const KEY_CHARS = KEY_BYTES * 2;

/** The keys of a file's stacks, by their local id. */
export interface StackKeys {
  stackKey(id: number): string;
}

/** With the length of the name, since a name may hold any character, the separator too. */
export function frameKey(name: string, filename: string, line: number): string {
  return `${name.length}\0${name}\0${filename}\0${line}`;
}

export class ContentKeys implements StackKeys {
  private readonly dictionary: Dictionary;
  /**
   * By local frame id. Words, because copying four of them is several times faster than a call that copies 16 bytes.
   */
  private frameKeys = new Uint32Array(0);
  private framesDone = 0;
  private scratch = new Uint32Array(64 * KEY_WORDS);
  private readonly made: string[] = [];

  constructor(dictionary: Dictionary) {
    this.dictionary = dictionary;
  }

  stackKey(id: number): string {
    this.made[id] ??= this.makeKey(id);
    return this.made[id];
  }

  private makeKey(id: number): string {
    const { dictionary } = this;
    if (this.framesDone < dictionary.frameCount) this.addFrames();
    const { frameKeys } = this;
    const frames = dictionary.stackFrames(id);
    const words = frames.length * KEY_WORDS;
    if (this.scratch.length < words) this.scratch = new Uint32Array(words * 2);
    const { scratch } = this;
    for (let pos = 0, to = 0; pos < frames.length; pos++) {
      let from = frames[pos]! * KEY_WORDS;
      for (const end = to + KEY_WORDS; to < end; ) scratch[to++] = frameKeys[from++]!;
    }
    return hash('sha256', scratch.subarray(0, words), 'hex').slice(0, KEY_CHARS);
  }

  private addFrames(): void {
    const { dictionary } = this;
    const count = dictionary.frameCount;
    if (this.frameKeys.length < count * KEY_WORDS) {
      const keys = new Uint32Array(count * 2 * KEY_WORDS);
      keys.set(this.frameKeys);
      this.frameKeys = keys;
    }
    const bytes = new Uint8Array(this.frameKeys.buffer);
    for (let local = this.framesDone; local < count; local++) {
      const frame = dictionary.frame(local);
      const key = frameKey(dictionary.text(frame.name), dictionary.text(frame.filename), frame.line);
      bytes.set(hash('sha256', key, 'buffer').subarray(0, KEY_BYTES), local * KEY_BYTES);
    }
    this.framesDone = count;
  }
}
