/**
 * Texts, frames and stacks of the whole store, interned by content, so that equal stacks of two ranks or two runs have one id.
 *
 * Within a file equality is exact (the parser compares bytes). Across files a stack is known by a 128-bit key of its frames' texts: SHA-256
 * cut to half, which no file can be made to collide with. Keys do not depend on the store, so they also compare stacks of two stores.
 */
import { hash } from 'node:crypto';
import { ColumnBatch } from '../model/columns.js';
import type { Dictionary } from '../model/parser.js';
import { BATCH_ROWS, STACK_FRAME_LAYOUT } from '../model/tables.js';
import type { ColumnAppender } from '../store/column-appender.js';
import type { Store } from '../store/store.js';

const KEY_BYTES = 16;

export class StoreDictionary {
  private readonly store: Store;
  private loaded = false;
  private textIds = new Map<string, number>();
  private frameIds = new Map<string, number>();
  private stackIds = new Map<string, number>();

  constructor(store: Store) {
    this.store = store;
  }

  /** Forgets everything after a rollback: ids given out since the last commit are free again. */
  reset(): void {
    this.loaded = false;
  }

  /** A translation for one file; needs an open transaction. */
  async translate(dictionary: Dictionary): Promise<Translation> {
    if (!this.loaded) await this.load();
    return new Translation(dictionary, this, await this.store.appender(STACK_FRAME_LAYOUT));
  }

  private async load(): Promise<void> {
    const ids = async (sql: string): Promise<Map<string, number>> =>
      new Map((await this.store.select(sql)).map((row) => [String(row['key']), Number(row['id'])]));
    this.textIds = await ids('SELECT text AS key, text_id AS id FROM text_value');
    this.frameIds = new Map();
    for (const row of await this.store.select('SELECT name, filename, line, frame_id FROM frame')) {
      const key = frameKey(String(row['name']), String(row['filename']), Number(row['line']));
      this.frameIds.set(key, Number(row['frame_id']));
    }
    this.stackIds = await ids('SELECT content_key AS key, stack_id AS id FROM stack');
    this.loaded = true;
  }

  /** The id of `key`, and whether it is new. Ids are dense from 0. */
  private static intern(ids: Map<string, number>, key: string): { id: number; isNew: boolean } {
    const known = ids.get(key);
    if (known !== undefined) return { id: known, isNew: false };
    const id = ids.size;
    ids.set(key, id);
    return { id, isNew: true };
  }

  internText(text: string) {
    return StoreDictionary.intern(this.textIds, text);
  }
  internFrame(name: string, filename: string, line: number) {
    return StoreDictionary.intern(this.frameIds, frameKey(name, filename, line));
  }
  internStack(key: string) {
    return StoreDictionary.intern(this.stackIds, key);
  }
}

/** With the length of the name, since a name may hold any character, the separator too. */
function frameKey(name: string, filename: string, line: number): string {
  return `${name.length}\0${name}\0${filename}\0${line}`;
}

/** Local ids of one file → ids of the store. Rows of new dimension values are appended, or wait for {@link Translation.finish}. */
export class Translation {
  private readonly dictionary: Dictionary;
  private readonly target: StoreDictionary;
  private readonly stackFrames: ColumnAppender;
  private readonly batch = new ColumnBatch(STACK_FRAME_LAYOUT, BATCH_ROWS);
  private texts = new Int32Array(0);
  private frames = new Int32Array(0);
  private frameKeys = Buffer.alloc(0);
  private stacks = new Int32Array(0);
  private framesDone = 0;
  private stacksDone = 0;
  private readonly newTexts: { text_id: number; text: string }[] = [];
  private readonly newFrames: { frame_id: number; name: string; filename: string; line: number }[] = [];
  private readonly newStacks: { stack_id: number; depth: number; content_key: string }[] = [];

  constructor(dictionary: Dictionary, target: StoreDictionary, stackFrames: ColumnAppender) {
    this.dictionary = dictionary;
    this.target = target;
    this.stackFrames = stackFrames;
  }

  /** Replaces the first `rows` local text ids of a column; −1 stays. */
  texts32(column: Int32Array, rows: number): void {
    if (this.texts.length < this.dictionary.textCount) {
      const grown = new Int32Array(this.dictionary.textCount * 2).fill(-1);
      grown.set(this.texts);
      this.texts = grown;
    }
    const { texts } = this;
    for (let row = 0; row < rows; row++) {
      const local = column[row]!;
      if (local < 0) continue;
      let id = texts[local]!;
      if (id < 0) {
        const text = this.dictionary.text(local);
        const interned = this.target.internText(text);
        id = interned.id;
        texts[local] = id;
        if (interned.isNew) this.newTexts.push({ text_id: id, text });
      }
      column[row] = id;
    }
  }

  /** Replaces the first `rows` local stack ids of a column; −1 stays. */
  stacks32(column: Int32Array, rows: number): void {
    if (this.stacksDone < this.dictionary.stackCount) this.addStacks();
    const { stacks } = this;
    for (let row = 0; row < rows; row++) {
      const local = column[row]!;
      if (local >= 0) column[row] = stacks[local]!;
    }
  }

  private addFrames(): void {
    const { dictionary } = this;
    const count = dictionary.frameCount;
    if (this.frames.length < count) {
      const frames = new Int32Array(count * 2);
      frames.set(this.frames);
      this.frames = frames;
      const keys = Buffer.alloc(count * 2 * KEY_BYTES);
      this.frameKeys.copy(keys);
      this.frameKeys = keys;
    }
    for (let local = this.framesDone; local < count; local++) {
      const frame = dictionary.frame(local);
      const name = dictionary.text(frame.name);
      const filename = dictionary.text(frame.filename);
      const { id, isNew } = this.target.internFrame(name, filename, frame.line);
      this.frames[local] = id;
      hash('sha256', frameKey(name, filename, frame.line), 'buffer').copy(
        this.frameKeys,
        local * KEY_BYTES,
        0,
        KEY_BYTES,
      );
      if (isNew) this.newFrames.push({ frame_id: id, name, filename, line: frame.line });
    }
    this.framesDone = count;
  }

  private addStacks(): void {
    this.addFrames();
    const { dictionary, frameKeys } = this;
    const count = dictionary.stackCount;
    if (this.stacks.length < count) {
      const stacks = new Int32Array(count * 2);
      stacks.set(this.stacks);
      this.stacks = stacks;
    }
    let scratch = Buffer.alloc(64 * KEY_BYTES);
    for (let local = this.stacksDone; local < count; local++) {
      const frames = dictionary.stackFrames(local);
      if (scratch.length < frames.length * KEY_BYTES) scratch = Buffer.alloc(frames.length * KEY_BYTES * 2);
      for (let pos = 0; pos < frames.length; pos++) {
        const from = frames[pos]! * KEY_BYTES;
        frameKeys.copy(scratch, pos * KEY_BYTES, from, from + KEY_BYTES);
      }
      const key = hash('sha256', scratch.subarray(0, frames.length * KEY_BYTES), 'hex').slice(0, KEY_BYTES * 2);
      const { id, isNew } = this.target.internStack(key);
      this.stacks[local] = id;
      if (!isNew) continue;
      this.newStacks.push({ stack_id: id, depth: frames.length, content_key: key });
      this.appendFrames(id, frames);
    }
    this.stacksDone = count;
  }

  private appendFrames(stackId: number, frames: Int32Array): void {
    const { batch } = this;
    const [stackColumn, posColumn, frameColumn] = [batch.i32('stack_id'), batch.i32('pos'), batch.i32('frame_id')];
    for (let pos = 0; pos < frames.length; pos++) {
      const row = batch.rows++;
      stackColumn[row] = stackId;
      posColumn[row] = pos;
      frameColumn[row] = this.frames[frames[pos]!]!;
      if (batch.rows === batch.capacity) this.flush();
    }
  }

  private flush(): void {
    if (this.batch.rows > 0) this.stackFrames.append(this.batch);
    this.batch.rows = 0;
  }

  /** Writes what is still waiting. */
  async finish(store: Store): Promise<void> {
    this.flush();
    this.stackFrames.close();
    await store.insertRows('text_value', this.newTexts);
    await store.insertRows('frame', this.newFrames);
    await store.insertRows('stack', this.newStacks);
  }
}
