/** The backward walk against memory_viz's own way of undoing a trace, over random histories of the allocator model. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AllocatorState, stateTotals } from '../../src/allocator/walk/allocator-state.js';
import { type VizSnapshot, vizEvents, vizFragmentation, vizState, vizTimeline } from '../support/memory-viz-oracle.js';
import { vizSnapshot } from '../support/snapshot-rows.js';
import { freeHoles } from '../support/states/free-holes.js';
import { dumpRows, eventRows, eventsOf, finalStateOf, history, type Played, play } from './history.js';
import { BackwardWalk } from './walk/backward-walk.js';

function walkOf({ allocator, trace, settings }: Played, cut: number, captureAfter: readonly number[]): BackwardWalk {
  const walk = new BackwardWalk(finalStateOf(allocator), settings, { captureAfter });
  walk.undo(eventsOf(trace.slice(cut)));
  walk.finish();
  return walk;
}

/** From our free blocks, by memory_viz's definition. */
function fragmentationIndex(state: AllocatorState): number | null {
  const { reservedBytes } = stateTotals(state);
  const squares = freeHoles(state).bytes.reduce((sum, bytes) => sum + bytes ** 2, 0);
  return reservedBytes === 0 ? null : squares / reservedBytes ** 2;
}

const vizOf = ({ allocator, trace }: Played, cut: number): VizSnapshot =>
  vizSnapshot({ ...dumpRows(allocator), events: eventRows(trace.slice(cut)) });

describe('memory_viz over random histories', () => {
  it('has the same segments and live blocks at any moment, whole trace or the end of a ring', () => {
    let compared = 0;
    let pending = 0;
    const lost = 0;
    fc.assert(
      fc.property(
        history,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 20, maxLength: 20 }),
        (past, lost, moments) => {
          const played = play(past, () => undefined);
          if (played.trace.length === 0) return;
          // Half of the runs keep the whole trace, the others what a ring would have kept.
          const cut = lost < 0.5 ? 0 : Math.floor((2 * lost - 1) * played.trace.length);
          const viz = vizOf(played, cut);
          const { events } = vizEvents(viz);
          if (events.length === 0) return;
          const all = moments.map((moment) => vizState(viz, Math.floor(moment * (events.length + 1)) - 1));
          const states = all.filter((state) => state !== undefined);
          lost += all.length - states.length;
          // Only runs of expandable segments are ever joined with a neighbour.
          if (states.length < all.length) expect(past.conf).toContain('expandable_segments:True');
          const walk = walkOf(
            played,
            cut,
            states.map((state) => state.afterSeq),
          );
          for (const theirs of states) {
            const ours = theirs.afterSeq < 0 ? walk.state() : walk.captured(theirs.afterSeq)!;
            expect(stateTotals(ours).reservedBytes).toBe(theirs.reserved);
            expect(stateTotals(ours).requestedBytes).toBe(theirs.allocated);
            expect(
              Array.from({ length: ours.blocks.count }, (_, row) => ({
                addr: ours.blocks.address[row],
                requested: ours.blocks.requestedBytes[row],
                pending: ours.blocks.state[row] === 1,
              })),
            ).toEqual(theirs.blocks);
            compared += 1;
            pending += theirs.blocks.filter((block) => block.pending).length;
          }
          // What it assumes to have been there is what the walk finds there, but for blocks that wait for another
          // stream at the dump.
          const { initially, plottedPeak } = vizTimeline(viz);
          const start = walk.state();
          const waiting = viz.segments
            .flatMap((segment) => segment.blocks)
            .filter((block) => block.state === 'active_pending_free').length;
          if (waiting === 0) {
            expect(initially.map(({ addr }) => addr).sort((a, b) => a - b)).toEqual([...start.blocks.address]);
            expect(plottedPeak).toBeLessThanOrEqual(walk.peak.bytes);
          }
        },
      ),
      { numRuns: 300, seed: 20_261_121 },
    );
    expect(compared).toBeGreaterThan(4000);
    expect(pending).toBeGreaterThan(100);
    expect(lost).toBeLessThan(compared / 20);
  });

  it('has the same fragmentation index of a dump', () => {
    let fragmented = 0;
    fc.assert(
      fc.property(history, (past) => {
        const played = play(past, () => undefined);
        const viz = vizOf(played, 0);
        const index = fragmentationIndex(walkOf(played, played.trace.length, []).state());
        if (viz.segments.length === 0) {
          expect(index).toBeNull();
          return;
        }
        expect(index).toBeCloseTo(vizFragmentation(viz), 12);
        if (index! > 0 && index! < 1) fragmented += 1;
      }),
      { numRuns: 300, seed: 20_261_121 },
    );
    expect(fragmented).toBeGreaterThan(100);
  });
});
