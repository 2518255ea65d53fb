import type { AllocatorState } from '../../src/allocator/walk/allocator-state.js';

/**
 * A state as plain values, for comparison. Runs of reservations that touch are one: a trace does not distinguish them.
 */
export function plainState(state: AllocatorState): unknown {
  const { segments, blocks } = state;
  const runs: { from: number; to: number; stream: number; small: number; pool: number; expandable: number }[] = [];
  for (let i = 0; i < segments.count; i += 1) {
    const from = segments.address[i]!;
    const run = {
      from,
      to: from + segments.totalBytes[i]!,
      stream: segments.stream[i]!,
      small: segments.small[i]!,
      pool: segments.pool[i]!,
      expandable: segments.expandable[i]!,
    };
    const last = runs.at(-1);
    if (
      last?.to === from &&
      last.expandable === 1 &&
      run.expandable === 1 &&
      last.stream === run.stream &&
      last.small === run.small &&
      last.pool === run.pool
    )
      last.to = run.to;
    else runs.push(run);
  }
  return {
    runs,
    blocks: Array.from({ length: blocks.count }, (_, i) => [
      blocks.address[i],
      blocks.sizeBytes[i],
      blocks.minBytes[i],
      blocks.maxBytes[i],
      blocks.requestedBytes[i],
      blocks.state[i],
      blocks.stackId[i],
      blocks.allocSeq[i],
    ]),
  };
}
