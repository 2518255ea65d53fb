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
import { STACK_FRAME_LAYOUT } from '../../model/tables.js';
import type { Store } from '../../store/store.js';
import { frameKey, type StackKeys } from '../read/content-keys.js';
import type { Group } from './group.js';

const STACK_FRAME_ROWS = 8192;

export class StoreDictionary {
  private readonly store: Store;
  private loaded = false;
  /** Frames of new stacks on their way to the store; used again by every file. */
  readonly stackFrames = new ColumnBatch(STACK_FRAME_LAYOUT, STACK_FRAME_ROWS);
  private textIds = new Map<string, number>();
  private frameIds = new Map<string, number>();
  private stackIds = new Map<string, number>();

  constructor(store: Store) {
    this.store = store;
  }

  /** Forgets everything after a rollback: ids given out since the last commit are free again. */
  reset(): void {
    this.loaded = false;
    this.stackFrames.rows = 0;
  }

  /** To be awaited before anything is interned. */
  async ready(): Promise<void> {
    if (!this.loaded) await this.load();
  }

  /** A translation for one file. */
  async translate(dictionary: Dictionary, keys: StackKeys, group: Group): Promise<Translation> {
    await this.ready();
    await group.open([STACK_FRAME_LAYOUT]);
    return new Translation(dictionary, keys, this, group);
  }

  private async load(): Promise<void> {
    this.textIds = new Map();
    this.frameIds = new Map();
    this.stackIds = new Map();
    const rows = await this.store.select(
      `SELECT text AS key, text_id AS id, NULL AS filename, NULL AS line, 'text' AS kind FROM text_value
       UNION ALL SELECT name, frame_id, filename, line, 'frame' FROM frame
       UNION ALL SELECT content_key, stack_id, NULL, NULL, 'stack' FROM stack`,
    );
    for (const { kind, key, id, filename, line } of rows) {
      if (kind === 'frame') this.frameIds.set(frameKey(String(key), String(filename), Number(line)), Number(id));
      else (kind === 'text' ? this.textIds : this.stackIds).set(String(key), Number(id));
    }
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
  private readonly group: Group;
  private texts = new Int32Array(0);
  /** −1: not looked up yet. */
  private frames = new Int32Array(0);
  private stacks = new Int32Array(0);
  private stacksDone = 0;
  private readonly newTexts: { text_id: number; text: string }[] = [];
  private readonly newFrames: { frame_id: number; name: string; filename: string; line: number }[] = [];
  private readonly newStacks: { stack_id: number; depth: number; content_key: string; site: string | null }[] = [];
  private readonly namedFrames: Frame[] = [];

  constructor(dictionary: Dictionary, keys: StackKeys, target: StoreDictionary, group: Group) {
    this.dictionary = dictionary;
    this.keys = keys;
    this.target = target;
    this.group = group;
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
    const { stackFrames: batch } = this.target;
    const { stack_id, pos: position, frame_id } = batch.columns(STACK_FRAME_LAYOUT);
    for (let pos = 0; pos < frames.length; pos++) {
      const row = batch.rows++;
      stack_id[row] = stackId;
      position[row] = pos;
      frame_id[row] = this.frame(frames[pos]!);
      if (batch.rows === batch.capacity) this.flush();
    }
  }

  private flush(): void {
    const { stackFrames: batch } = this.target;
    if (batch.rows > 0) this.group.append(batch);
    batch.rows = 0;
  }

  /** Writes what is still waiting. */
  finish(): void {
    const { group } = this;
    this.flush();
    group.insert('text_value', this.newTexts);
    group.insert('frame', this.newFrames);
    group.insert('stack', this.newStacks);
  }
}
