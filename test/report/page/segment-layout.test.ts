import { describe, expect, it } from 'vitest';
import { cheapestRun, requestNear } from '../../../src/report/page/segments/free-to-fit.js';
import { fitSentence, freeingSentence, holeLine } from '../../../src/report/page/segments/hole-words.js';
import { holesAt } from '../../../src/report/page/segments/holes-at.js';
import { holesBySize, pinningStacks, sharesOf } from '../../../src/report/page/segments/pin-ranks.js';
import { BAR_HEIGHT, byteAt, partsOf, segmentRows } from '../../../src/report/page/segments/segment-layout.js';
import { syntheticDevice } from './synthetic-device.js';

const GIB = 1024 ** 3;
const { page, columns } = syntheticDevice({ seed: 7, layers: 8, steps: 12, limitBytes: 5.5 * GIB, expandable: false });
const at = holesAt(page, columns, page.lastSeq);
const request = requestNear(page, page.lastSeq)!;

describe('segments in rows', () => {
  const rows = segmentRows(at, at.reservedBytes, 900, 470);

  it('show every byte of every segment once, on one scale', () => {
    expect(rows.hidden).toBe(0);
    const shown = new Map<number, number>();
    for (const { segment, from, to, x, width, y } of rows.pieces) {
      expect(from).toBe(shown.get(segment) ?? 0);
      shown.set(segment, to);
      expect(x + width).toBeLessThanOrEqual(900 + 3);
      expect(y + BAR_HEIGHT).toBeLessThanOrEqual(470);
      expect(width).toBeCloseTo(Math.max(2, (to - from) / rows.bytesPerPixel), 6);
    }
    at.segments.forEach(({ bytes }, i) => {
      expect(shown.get(i)).toBe(bytes);
    });
  });

  it('do not overlap', () => {
    for (const [i, a] of rows.pieces.entries())
      for (const b of rows.pieces.slice(i + 1))
        if (a.y === b.y) expect(a.x + a.width <= b.x || b.x + b.width <= a.x).toBe(true);
  });

  it('are grouped by what never mixes, the most reserved first, in groups those with the most free memory', () => {
    for (const group of rows.groups) {
      const members = rows.pieces
        .map(({ segment }) => at.segments[segment]!)
        .filter(
          (one) => one.isSmall === group.isSmall && one.isPrivate === group.isPrivate && one.stream === group.stream,
        );
      expect(new Set(members).size).toBe(group.segments);
      members.reduce((before, one) => {
        expect(one.freeBytes).toBeLessThanOrEqual(before.freeBytes);
        return one;
      });
    }
    const reserved = rows.groups.map(({ bytes }) => bytes);
    expect(reserved).toEqual([...reserved].sort((a, b) => b - a));
  });

  it('give the byte below the pointer', () => {
    for (const hole of holesBySize(at).slice(0, 20)) {
      const start = hole.place - at.segments[hole.segment]!.place;
      const part = partsOf(rows, hole.segment, start, start + hole.bytes)[0]!;
      const hit = byteAt(rows, part.x + part.width / 2, part.y + 3)!;
      expect(hit.segment).toBe(hole.segment);
      expect(Math.abs(hit.byte - start - hole.bytes / 2)).toBeLessThanOrEqual(hole.bytes / 2 + rows.bytesPerPixel);
    }
    expect(byteAt(rows, 5, BAR_HEIGHT - 200)).toBeNull();
  });

  it('leave out what does not fit, and count it', () => {
    const few = segmentRows(at, at.reservedBytes, 900, 90);
    expect(few.hidden).toBeGreaterThan(0);
    expect(new Set(few.pieces.map(({ segment }) => segment)).size + few.hidden).toBe(at.segments.length);
  });
});

describe('what pins free memory', () => {
  const large = { seed: 7, layers: 8, steps: 12, limitBytes: 5.5 * GIB, expandable: true };
  const expandable = syntheticDevice(large);
  it.each([
    ['cudaMalloc', page, columns],
    ['expandable', expandable.page, expandable.columns],
  ] as const)('is ranked by stack, each block once: %s', (_, device, of) => {
    const state = holesAt(device, of, Math.floor(device.lastSeq * 0.98));
    const kept = state.pins.reduce((sum, pin) => sum + pin.bytes, 0);
    const ranks = pinningStacks(of, state);
    expect(ranks.reduce((sum, rank) => sum + rank.aloneBytes, 0)).toBeLessThanOrEqual(kept);
    for (const [i, rank] of ranks.entries()) {
      expect(rank.keptBytes).toBeLessThanOrEqual(kept);
      expect(rank.aloneBytes).toBeLessThanOrEqual(rank.keptBytes);
      if (i > 0) expect(rank.keptBytes).toBeLessThanOrEqual(ranks[i - 1]!.keptBytes);
    }
    const pinning = state.pins.flatMap(({ first, end }) => [...state.live.blocks.subarray(first, end)]);
    const distinct = new Set(pinning);
    // A block that ends in one page and begins in another pins both.
    if (device === expandable.page) expect(distinct.size).toBeLessThan(pinning.length);
    expect(ranks.reduce((sum, rank) => sum + rank.blocks, 0)).toBe(distinct.size);
    const bytes = [...distinct].reduce((sum, i) => sum + of.blocks.bytes[i]!, 0);
    expect(ranks.reduce((sum, rank) => sum + rank.bytes, 0)).toBe(bytes);
  });

  it('is put in words', () => {
    const pinned = holesBySize(at).find(({ reason, firstPin, endPin }) => {
      return reason === 'between_live_blocks' && endPin - firstPin === 1;
    })!;
    const [share] = sharesOf(columns, at, pinned.firstPin, pinned.endPin);
    expect(share!.blocks).toBe(1);
    expect(holeLine(columns, at, pinned, null)).toMatch(
      /^[\d.]+ [KMG]iB in segment 0x7f[0-9a-f]+: kept by 1 block, [\d.]+ [KMG]iB: \w+ \w+\.py:\d+$/,
    );
    expect(fitSentence(at, request)).toMatch(/The largest hole that it could use is [\d.]+ MiB: it does not fit\.$/);
    const run = cheapestRun(columns, at, request)!;
    expect(run.holeBytes).toBeGreaterThanOrEqual(request.bytes);
    expect(freeingSentence({ ...run, first: 0, end: 3 })).toMatch(
      /^Free these 3 blocks \([\d.]+ MiB\) → [\d.]+ [MG]iB hole$/,
    );
    const smallRequest = { ...request, isSmall: true };
    expect(holeLine(columns, at, pinned, smallRequest)).toContain(
      'of the large pool, which the failed request does not use',
    );
  });
});
