/**
 * What labels need of the blocks that an ingest writes, kept while they pass: reading it back takes a third of the time
 * of labelling.
 */
import { LivesBuilder } from '../../attribution/blocks/lives.js';
import { StackClassifier } from '../../attribution/blocks/stack-classes.js';
import { builtInRules } from '../../attribution/built-in-rules.js';
import type { Frame } from '../../attribution/frames/call-site.js';
import { type ColumnBatch, LAYOUTS } from '../../model/columns.js';
import { getOrAdd } from '../../model/group-by.js';

/** Of all snapshots together, 33 bytes each. Those of others are read from the store. */
const MOST_BLOCKS = 4_000_000;

export class SeenBlocks {
  stacks = new StackClassifier(builtInRules());
  private readonly lives = new Map<string, LivesBuilder>();
  private left = MOST_BLOCKS;

  /** Takes over the blocks of a snapshot that is in the store. */
  keep(snapshot: SeenSnapshot): void {
    for (const [device, builder] of snapshot.lives) {
      if (builder.count > this.left) continue;
      this.left -= builder.count;
      this.lives.set(`${snapshot.snapshotId} ${device}`, builder);
    }
  }

  /** After a rollback: ids of stacks given out since the last commit are free again. */
  reset(): void {
    this.stacks = new StackClassifier(builtInRules());
  }

  /** An id is used again after its source was removed. */
  forget(snapshotId: number): void {
    for (const key of this.lives.keys()) if (key.startsWith(`${snapshotId} `)) this.lives.delete(key);
  }

  take(snapshotId: number, device: number): LivesBuilder | undefined {
    const key = `${snapshotId} ${device}`;
    const builder = this.lives.get(key);
    this.lives.delete(key);
    return builder;
  }
}

/** Gets batches whose ids are those of the store. */
export class SeenSnapshot {
  readonly snapshotId: number;
  readonly lives = new Map<number, LivesBuilder>();
  private readonly stacks: StackClassifier;
  private isWanted = new Uint8Array(1 << 14);
  private total = 0;

  constructor(seen: SeenBlocks, snapshotId: number) {
    this.stacks = seen.stacks;
    this.snapshotId = snapshotId;
  }

  /** `framesOf` gives those of the stacks it is asked for. */
  classify(framesOf: (isWanted: (id: number) => boolean) => Iterable<readonly [number, readonly Frame[]]>): void {
    const { stacks, isWanted } = this;
    for (const [id, frames] of framesOf((id) => isWanted[id] === 1 && !stacks.has(id))) stacks.add(id, frames);
  }

  /** Rows of one device. */
  blockLives(batch: ColumnBatch): void {
    this.total += batch.rows;
    if (this.total > MOST_BLOCKS) return;
    const columns = batch.columns(LAYOUTS.block_life);
    for (let row = 0; row < batch.rows; row += 1) this.want(columns.stack_id[row]!);
    getOrAdd(this.lives, columns.device[0]!, () => new LivesBuilder(batch.rows)).add(batch.rows, columns);
  }

  private want(stack: number): void {
    if (stack < 0) return;
    if (stack >= this.isWanted.length) {
      const grown = new Uint8Array(stack * 2);
      grown.set(this.isWanted);
      this.isWanted = grown;
    }
    this.isWanted[stack] = 1;
  }
}
