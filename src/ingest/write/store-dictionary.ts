/**
 * Texts, frames and stacks of the whole store, interned by content, so that equal stacks of two ranks or two runs have
 * one id.
 *
 * Within a file equality is exact (the parser compares bytes). Across files a stack is known by its content key. Frames
 * only matter as parts of stacks, so they are looked up for new stacks alone: the ranks of a run have nearly all of
 * theirs in common.
 */
import { callSite, type Frame } from '../../attribution/frames/call-site.js';
import { ColumnBatch } from '../../model/columns.js';
import type { Dictionary } from '../../model/parser.js';
import { BATCH_ROWS, STACK_FRAME_LAYOUT } from '../../model/tables.js';
import type { ColumnAppender } from '../../store/column-appender.js';
import type { Store } from '../../store/store.js';
import { frameKey, type StackKeys } from '../read/content-keys.js';

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

  /** To be awaited before anything is interned. */
  async ready(): Promise<void> {
    if (!this.loaded) await this.load();
  }

  /** A translation for one file; needs an open transaction. */
  async translate(dictionary: Dictionary, keys: StackKeys): Promise<Translation> {
    await this.ready();
    return new Translation(dictionary, keys, this, await this.store.appender(STACK_FRAME_LAYOUT));
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

/**
 * Local ids of one file → ids of the store. Rows of new dimension values are appended, or wait for {@link
 * Translation.finish}.
 */
export class Translation {
  private readonly dictionary: Dictionary;
  private readonly keys: StackKeys;
  private readonly target: StoreDictionary;
  private readonly stackFrames: ColumnAppender;
  private readonly batch = new ColumnBatch(STACK_FRAME_LAYOUT, BATCH_ROWS);
  private readonly stackColumn = this.batch.i32('stack_id');
  private readonly posColumn = this.batch.i32('pos');
  private readonly frameColumn = this.batch.i32('frame_id');
  private texts = new Int32Array(0);
  /** −1: not looked up yet. */
  private frames = new Int32Array(0);
  private stacks = new Int32Array(0);
  private stacksDone = 0;
  private readonly newTexts: { text_id: number; text: string }[] = [];
  private readonly newFrames: { frame_id: number; name: string; filename: string; line: number }[] = [];
  private readonly newStacks: { stack_id: number; depth: number; content_key: string; site: string | null }[] = [];
  private readonly namedFrames: Frame[] = [];

  constructor(dictionary: Dictionary, keys: StackKeys, target: StoreDictionary, stackFrames: ColumnAppender) {
    this.dictionary = dictionary;
    this.keys = keys;
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

  private addStacks(): void {
    const { dictionary } = this;
    const count = dictionary.stackCount;
    if (this.stacks.length < count) {
      const stacks = new Int32Array(count * 2);
      stacks.set(this.stacks);
      this.stacks = stacks;
    }
    if (this.frames.length < dictionary.frameCount) {
      const frames = new Int32Array(dictionary.frameCount * 2).fill(-1);
      frames.set(this.frames);
      this.frames = frames;
    }
    for (let local = this.stacksDone; local < count; local++) {
      const key = this.keys.stackKey(local);
      const { id, isNew } = this.target.internStack(key);
      this.stacks[local] = id;
      if (!isNew) continue;
      const frames = dictionary.stackFrames(local);
      const site = callSite(Array.from(frames, (frame) => this.namedFrame(frame))) ?? null;
      this.newStacks.push({ stack_id: id, depth: frames.length, content_key: key, site });
      this.appendFrames(id, frames);
    }
    this.stacksDone = count;
  }

  /** The stacks of the file so far whose id in the store is wanted; equal frames are one object. */
  *namedStacks(isWanted: (id: number) => boolean): Generator<[number, Frame[]], void, void> {
    for (let local = 0; local < this.stacksDone; local++) {
      const id = this.stacks[local]!;
      if (isWanted(id)) yield [id, Array.from(this.dictionary.stackFrames(local), (frame) => this.namedFrame(frame))];
    }
  }

  private namedFrame(local: number): Frame {
    let frame = this.namedFrames[local];
    if (frame === undefined) {
      const { name, filename, line } = this.dictionary.frame(local);
      frame = { name: this.dictionary.text(name), filename: this.dictionary.text(filename), line };
      this.namedFrames[local] = frame;
    }
    return frame;
  }

  /** The store's id of a local frame. */
  private frame(local: number): number {
    const known = this.frames[local]!;
    if (known >= 0) return known;
    const frame = this.namedFrame(local);
    const { id, isNew } = this.target.internFrame(frame.name, frame.filename, frame.line);
    this.frames[local] = id;
    if (isNew) this.newFrames.push({ frame_id: id, ...frame });
    return id;
  }

  private appendFrames(stackId: number, frames: Int32Array): void {
    const { batch, stackColumn, posColumn, frameColumn } = this;
    for (let pos = 0; pos < frames.length; pos++) {
      const row = batch.rows++;
      stackColumn[row] = stackId;
      posColumn[row] = pos;
      frameColumn[row] = this.frame(frames[pos]!);
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
