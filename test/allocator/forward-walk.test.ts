/** Back to the start and forward again: the same states, and in the end the dump. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/allocator/settings.js';
import { MIB } from '../../src/model/units.js';
import { SEED } from '../support/level.js';
import { walkEvents } from '../support/snapshot-rows.js';
import { eventRows, finalStateOf, history, play as playHistory } from './history.js';
import { dumpOf, play, SETTINGS_AND_STEPS, steps } from './plays.js';
import { thereAndBack } from './there-and-back.js';
import { BackwardWalk } from './walk/backward-walk.js';
import { ForwardWalk } from './walk/forward-walk.js';

describe('forward from the reconstructed start', () => {
  for (const [name, settings, list] of SETTINGS_AND_STEPS) {
    it(`gives the states of the walk back and ends in the dump, wherever the trace is cut (${name})`, () => {
      fc.assert(
        fc.property(list, fc.nat(), fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), (chosen, cutPick, picks) => {
          const played = play(settings, chosen);
          const cut = cutPick % (played.events.length + 1);
          const events = walkEvents(played.events.slice(cut), cut);
          const moments = picks.map((pick) => cut - 1 + (pick % (played.events.length - cut + 1)));
          thereAndBack(dumpOf(played.moments.at(-1)!), events, settings, moments);
        }),
        { numRuns: 200, seed: SEED },
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
      { numRuns: 400, seed: SEED },
    );
  });

  it('works without free_requested and without free_completed entries', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom('free_requested', 'free_completed'), (list, left) => {
        const played = play(
          DEFAULT_SETTINGS,
          list.filter((step) => step.kind !== 'defer'),
        );
        const kept = played.events.filter((event) => event.action !== left);
        thereAndBack(dumpOf(played.moments.at(-1)!), walkEvents(kept), played.settings, [Math.floor(kept.length / 2)], {
          freeRequestedRecorded: left !== 'free_requested',
          freeCompletedRecorded: left !== 'free_completed',
        });
      }),
      { numRuns: 100, seed: SEED },
    );
  });

  it('leaves out what makes no sense and counts it', () => {
    const played = play(DEFAULT_SETTINGS, [{ kind: 'malloc', size: 4096, pick: 1 }]);
    const start = new BackwardWalk(dumpOf(played.moments.at(-1)!), DEFAULT_SETTINGS).state();
    const none = new BackwardWalk(dumpOf(played.moments.at(-1)!), DEFAULT_SETTINGS).historyFacts();
    const forward = new ForwardWalk(start, DEFAULT_SETTINGS, none);
    const before = [forward.activeBytes, forward.reservedBytes];
    forward.apply(
      walkEvents([
        { action: 'free_requested', address: 3 * MIB, bytes: 512 },
        { action: 'free_completed', address: 3 * MIB, bytes: 512 },
        { action: 'segment_free', address: 3 * MIB, bytes: 2 * MIB },
        { action: 'segment_alloc', address: played.live()[0]!, bytes: 2 * MIB },
        { action: 'alloc', address: 3 * MIB, bytes: Number.NaN },
      ]),
    );
    expect(forward.divergences).toBe(5);
    expect([forward.activeBytes, forward.reservedBytes]).toEqual(before);
  });
});
