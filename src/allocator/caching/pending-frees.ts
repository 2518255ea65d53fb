/**
 * Blocks that were freed while other streams still used them (`record_stream`). Each using stream gets an event; the
 * free completes when all of them have happened. Upstream: `insert_events`, `process_events` and
 * `synchronize_and_free_events` in `CUDACachingAllocator.cpp`.
 */
import type { Block } from './block.js';

interface PendingEvent<S> {
  readonly block: Block<S>;
  /** Distinguishes events of earlier pending frees of the same block object. */
  readonly generation: number;
}

/** Events of one stream in the order they were recorded. */
interface StreamEvents<S> {
  readonly queue: PendingEvent<S>[];
  /** How many at the front have happened. */
  finished: number;
}

export class PendingFrees<S> {
  private readonly streams = new Map<number, StreamEvents<S>>();
  /** Freed during a graph capture: their events are recorded after it. */
  private deferred: Block<S>[] = [];
  /** Completed by name or by a wait, by no event. */
  private readonly held = new Set<Block<S>>();
  private readonly complete: (block: Block<S>) => void;

  constructor(complete: (block: Block<S>) => void) {
    this.complete = complete;
  }

  /** A block in state active_pending_free, with its stream uses. */
  add(block: Block<S>, capturing: boolean): void {
    block.pendingGeneration += 1;
    if (capturing) this.deferred.push(block);
    else this.recordEvents(block);
  }

  /** A block in state active_pending_free whose stream uses are unknown. */
  hold(block: Block<S>): void {
    block.pendingGeneration += 1;
    this.held.add(block);
  }

  /** Whether a wait would complete a free that waits for {@link complete} by name. */
  get holds(): boolean {
    return this.held.size > 0;
  }

  /** The GPU has passed everything recorded on this stream so far. */
  finish(stream: number): void {
    const events = this.streams.get(stream);
    if (events !== undefined) events.finished = events.queue.length;
  }

  /**
   * Completes what has finished: per stream in order, up to the first event that has not happened. Not during a
   * capture.
   */
  poll(): void {
    this.insertDeferred();
    for (const events of this.streams.values()) {
      if (events.finished === 0) continue;
      const happened = events.queue.splice(0, events.finished);
      events.finished = 0;
      for (const event of happened) this.happen(event);
    }
  }

  /** Waits for all events. Not during a capture. */
  wait(): void {
    this.insertDeferred();
    for (const events of this.streams.values()) {
      const all = events.queue.splice(0);
      events.finished = 0;
      for (const event of all) this.happen(event);
    }
    for (const block of this.held) this.complete(block);
    this.held.clear();
  }

  /** Forgets the outstanding events of a block whose completion the caller knows of. */
  forget(block: Block<S>): void {
    block.pendingGeneration += 1;
    block.eventCount = 0;
    block.streamUses = null;
    if (this.held.delete(block)) return;
    const at = this.deferred.indexOf(block);
    if (at >= 0) this.deferred.splice(at, 1);
  }

  private insertDeferred(): void {
    if (this.deferred.length === 0) return;
    const blocks = this.deferred;
    this.deferred = [];
    for (const block of blocks) this.recordEvents(block);
  }

  private recordEvents(block: Block<S>): void {
    for (const stream of block.streamUses ?? []) {
      let events = this.streams.get(stream);
      if (events === undefined) {
        events = { queue: [], finished: 0 };
        this.streams.set(stream, events);
      }
      events.queue.push({ block, generation: block.pendingGeneration });
      block.eventCount += 1;
    }
    block.streamUses = null;
  }

  private happen({ block, generation }: PendingEvent<S>): void {
    if (block.pendingGeneration !== generation) return;
    block.eventCount -= 1;
    if (block.eventCount === 0) this.complete(block);
  }
}
