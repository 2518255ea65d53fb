/** Back to the start and forward again: the same states, and in the end the dump. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../src/allocator/settings.js';
import { type AllocatorState, stateTotals } from '../../src/allocator/walk/allocator-state.js';
import {
  BackwardWalk,
  type FinalState,
  type WalkEvents,
  type WalkOptions,
} from '../../src/allocator/walk/backward-walk.js';
import { ForwardWalk } from '../../src/allocator/walk/forward-walk.js';
import { MIB } from '../../src/model/units.js';
import { skipLoudly } from '../support/corpus.js';
import { NIGHTLY } from '../support/level.js';
import { finalState, walkEvents } from '../support/snapshot-rows.js';
import { allRecordings } from './all-recordings.js';
import { eventRows, finalStateOf, history, play as playHistory } from './history.js';
import { plainState } from './plain-state.js';
import { play, SETTINGS_AND_STEPS, steps } from './toy-play.js';

/** Walks back over `events` (all of a trace from entry `cut` on), then forward, and compares `moments` and the end. */
function thereAndBack(
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

describe('forward from the reconstructed start', () => {
  for (const [name, settings, list] of SETTINGS_AND_STEPS) {
    it(`gives the states of the walk back and ends in the dump, wherever the trace is cut (${name})`, () => {
      fc.assert(
        fc.property(list, fc.nat(), fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), (chosen, cutPick, picks) => {
          const toy = play(settings, chosen);
          const cut = cutPick % (toy.events.length + 1);
          const events = walkEvents(toy.events.slice(cut), cut);
          const moments = picks.map((pick) => cut - 1 + (pick % (toy.events.length - cut + 1)));
          thereAndBack(toy.finalState(), events, settings, moments);
        }),
        { numRuns: 200 },
      );
    });
  }

  it('holds for histories over all settings, streams, private pools and torch versions', () => {
    fc.assert(
      fc.property(history, fc.nat(), fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), (past, cutPick, picks) => {
        const played = playHistory(past, () => {});
        const all = eventRows(played.trace);
        const cut = cutPick % (all.length + 1);
        const events = walkEvents(all.slice(cut), cut);
        const moments = picks.map((pick) => cut - 1 + (pick % (all.length - cut + 1)));
        thereAndBack(finalStateOf(played.allocator), events, played.settings, moments);
      }),
      { numRuns: 400 },
    );
  });

  it('works without free_requested and without free_completed entries', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom('free_requested', 'free_completed'), (list, left) => {
        const toy = play(
          DEFAULT_SETTINGS,
          list.filter((step) => step.kind !== 'defer'),
        );
        const kept = toy.events.filter((event) => event.action !== left);
        thereAndBack(toy.finalState(), walkEvents(kept), toy.settings, [Math.floor(kept.length / 2)], {
          freeRequestedRecorded: left !== 'free_requested',
          freeCompletedRecorded: left !== 'free_completed',
        });
      }),
      { numRuns: 100 },
    );
  });

  it('leaves out what makes no sense and counts it', () => {
    const toy = play(DEFAULT_SETTINGS, [{ kind: 'malloc', size: 4096, pick: 1 }]);
    const start = new BackwardWalk({ ...toy.finalState() }, DEFAULT_SETTINGS).state();
    const none = new BackwardWalk(toy.finalState(), DEFAULT_SETTINGS).historyFacts();
    const forward = new ForwardWalk(start, DEFAULT_SETTINGS, none);
    const before = [forward.activeBytes, forward.reservedBytes];
    forward.apply(
      walkEvents([
        { action: 'free_requested', address: 3 * MIB, bytes: 512 },
        { action: 'free_completed', address: 3 * MIB, bytes: 512 },
        { action: 'segment_free', address: 3 * MIB, bytes: 2 * MIB },
        { action: 'segment_alloc', address: toy.live()[0]!, bytes: 2 * MIB },
        { action: 'alloc', address: 3 * MIB, bytes: Number.NaN },
      ]),
    );
    expect(forward.divergences).toBe(5);
    expect([forward.activeBytes, forward.reservedBytes]).toEqual(before);
  });
});

describe.runIf(NIGHTLY)('recordings of the corpus, there and back', () => {
  const recordings = allRecordings();
  if (recordings.length === 0) {
    skipLoudly('forward walk', 'the corpus (set MBF_CORPUS) and python3');
    return;
  }
  it.each(recordings)('$name device $recording.device', ({ recording, settings, synthetic }) => {
    const events = walkEvents(recording.events);
    const moments = Array.from({ length: 20 }, (_, i) => Math.floor((i * (events.count - 1)) / 19));
    // The file that the corpus calls synthetic breaks the allocator's own rules: it only has to be survived.
    if (synthetic) expect(() => thereAndBack(finalState(recording), events, settings, moments)).toThrow();
    else expect(thereAndBack(finalState(recording), events, settings, moments).violations).toEqual([]);
  });
});
