/** Back to the start and forward again: the same states, and in the end the dump. */
import { expect } from 'vitest';
import type { AllocatorSettings } from '../../src/allocator/settings.js';
import { type AllocatorState, stateTotals } from '../../src/allocator/walk/allocator-state.js';
import type { FinalState, WalkEvents } from '../../src/allocator/walk/walk-input.js';
import { plainState } from './plain-state.js';
import { BackwardWalk, type WalkOptions } from './walk/backward-walk.js';
import { ForwardWalk } from './walk/forward-walk.js';

/** Walks back over `events` (all of a trace from entry `cut` on), then forward, and compares `moments` and the end. */
export function thereAndBack(
  final: FinalState,
  events: WalkEvents,
  settings: AllocatorSettings,
  moments: readonly number[],
  options: WalkOptions = {},
): BackwardWalk {
  const back = new BackwardWalk(final, settings, { ...options, captureAfter: moments });
  back.undo(events);
  const start = back.finish();
  const forward = new ForwardWalk(start, settings, back.historyFacts(), options);
  let at = 0;
  let peak = back.activeBytes;
  const observer = {
    after(_seq: number, _allocated: number, active: number) {
      peak = Math.max(peak, active);
    },
  };
  for (const moment of [...moments].sort((a, b) => a - b)) {
    let to = at;
    while (to < events.count && events.seq[to]! <= moment) to += 1;
    forward.apply(events, at, to, observer);
    at = to;
    expect(plainState(forward.snapshot()), `after entry ${moment}`).toEqual(plainState(back.captured(moment)!));
  }
  forward.apply(events, at, events.count, observer);
  expect(forward.divergences).toBe(0);
  const end = forward.snapshot();
  const untouched = new BackwardWalk(final, settings);
  expect(forward.reservedBytes).toBe(untouched.reservedBytes);
  expect(forward.activeBytes).toBe(untouched.activeBytes);
  expect(forward.pendingBytes).toBe(untouched.pendingBytes);
  expect(stateTotals(end).activeBytes).toBe(untouched.activeBytes);
  expect(peak).toBe(back.peak.bytes);
  // The dump knows neither the alloc entries nor what the walk learned about sizes: its blocks, addresses, sizes and
  // states are the test.
  const shape = (state: AllocatorState): unknown => ({
    ...(plainState(state) as object),
    blocks: Array.from({ length: state.blocks.count }, (_, i) => [
      state.blocks.address[i],
      state.blocks.sizeBytes[i],
      state.blocks.state[i],
    ]),
  });
  expect(shape(end)).toEqual(shape(untouched.state()));
  return back;
}
