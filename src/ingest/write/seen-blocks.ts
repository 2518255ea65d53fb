/**
 * What labels need of the blocks that an ingest writes, kept while they pass: reading it back takes a third of the time
 * of labelling. Stacks are classified while the other thread walks back over the trace.
 */
import { LivesBuilder } from '../../attribution/blocks/lives.js';
import { StackClassifier } from '../../attribution/blocks/stack-classes.js';
import { builtInRules } from '../../attribution/built-in-rules.js';
import type { Frame } from '../../attribution/frames/call-site.js';
import { type ColumnBatch, getI64, LAYOUTS, NULL_HIGH } from '../../model/columns.js';
import { getOrAdd } from '../../model/group-by.js';
import { BATCH_ROWS } from '../../model/tables.js';
import { ALLOC } from '../../model/trace-action-codes.js';

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
  /** Allocations and final blocks, in all and by device. */
  private total = 0;
  private readonly expected = new Map<number, number>();
  private readonly actual = new Float64Array(BATCH_ROWS);
  private readonly requested = new Float64Array(BATCH_ROWS);

  constructor(seen: SeenBlocks, snapshotId: number) {
    this.stacks = seen.stacks;
    this.snapshotId = snapshotId;
  }

  events(batch: ColumnBatch): void {
    const { action, stack_id: stack, device } = batch.columns(LAYOUTS.event);
    for (let from = 0; from < batch.rows; ) {
      const of = device[from]!;
      const before = this.total;
      let row = from;
      for (; row < batch.rows && device[row] === of; row += 1) if (action[row] === ALLOC) this.expect(stack[row]!);
      this.expected.set(of, (this.expected.get(of) ?? 0) + this.total - before);
      from = row;
    }
  }

  blocks(batch: ColumnBatch): void {
    const { stack_id: stack, device } = batch.columns(LAYOUTS.block);
    for (let row = 0; row < batch.rows; row += 1) {
      this.expect(stack[row]!);
      this.expected.set(device[row]!, (this.expected.get(device[row]!) ?? 0) + 1);
    }
  }

  /** `framesOf` gives those of the stacks it is asked for. */
  classify(framesOf: (isWanted: (id: number) => boolean) => Iterable<readonly [number, readonly Frame[]]>): void {
    const { stacks, isWanted } = this;
    for (const [id, frames] of framesOf((id) => isWanted[id] === 1 && !stacks.has(id))) stacks.add(id, frames);
  }

  /** Rows of one device. */
  blockLives(batch: ColumnBatch): void {
    if (this.total > MOST_BLOCKS) return;
    const {
      device: devices,
      actual_bytes: actual,
      requested_bytes: requested,
      ...columns
    } = batch.columns(LAYOUTS.block_life);
    const device = devices[0]!;
    const builder = getOrAdd(this.lives, device, () => new LivesBuilder(this.expected.get(device) ?? 0));
    for (let row = 0; row < batch.rows; row += 1) {
      this.actual[row] = getI64(actual, row);
      this.requested[row] = requested[row * 2 + 1] === NULL_HIGH ? -1 : getI64(requested, row);
    }
    builder.add(batch.rows, { ...columns, actual_bytes: this.actual, requested_bytes: this.requested });
  }

  private expect(stack: number): void {
    this.total += 1;
    if (stack < 0) return;
    if (stack >= this.isWanted.length) {
      const grown = new Uint8Array(stack * 2);
      grown.set(this.isWanted);
      this.isWanted = grown;
    }
    this.isWanted[stack] = 1;
  }
}
