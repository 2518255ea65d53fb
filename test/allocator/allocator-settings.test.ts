/**
 * What each setting changes, on sequences small enough to be worked out by hand; numbered vectors are those of the
 * project's notes.
 */
import { describe, expect, it } from 'vitest';
import type { Block } from '../../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../../src/allocator/caching/caching-allocator.js';
import { createDriver } from '../../src/allocator/caching/driver.js';
import { roundSize } from '../../src/allocator/rounding.js';
import { DEFAULT_SETTINGS, readAllocConf, settingsFromConf } from '../../src/allocator/settings.js';
import { ALLOCATOR_VARIANTS } from '../../src/allocator/variants.js';
import { GIB, KIB, MIB } from '../../src/model/units.js';

interface Setting {
  readonly conf?: string;
  readonly totalMib?: number;
  readonly fraction?: number;
  readonly release?: keyof typeof ALLOCATOR_VARIANTS;
  readonly direction?: 'ascending' | 'descending';
  readonly baseMib?: number;
}

/** Sizes in MiB; addresses in MiB from `base`. */
function setUp({ conf = '', totalMib = 4096, fraction, release = '2.7', direction, baseMib = 1000 }: Setting = {}) {
  const trace: TraceEntry<string>[] = [];
  const driver = createDriver({
    totalBytes: totalMib * MIB,
    baseAddress: baseMib * MIB,
    ...(direction ? { direction } : {}),
  });
  const allocator = new CachingAllocator<string>({
    driver,
    settings: settingsFromConf(conf),
    variant: ALLOCATOR_VARIANTS[release],
    ...(fraction === undefined ? {} : { memoryFraction: fraction }),
    trace: (entry) => trace.push(entry),
  });
  const at = (addr: number): number => addr / MIB - baseMib;
  return {
    allocator,
    driver,
    trace,
    at,
    alloc(mib: number, stream = 0): Block<string> {
      const result = allocator.malloc(mib * MIB, stream);
      if (!result.ok) throw new Error(`unexpected OOM: ${JSON.stringify(result.oom)}`);
      return result.block;
    },
    fails: (mib: number, stream = 0): boolean => !allocator.malloc(mib * MIB, stream).ok,
    free: (...blocks: Block<string>[]): void => {
      for (const block of blocks) allocator.free(block);
    },
    reserved: (): number => allocator.statistics.reservedBytes.current / MIB,
    /** `action address size` of the entries since the last call, without alloc and free. */
    driverCalls(): string[] {
      const calls = trace
        .filter(({ action }) => action.startsWith('segment_') || action === 'oom')
        .map(({ action, addr, sizeBytes }) => `${action} ${addr === null ? '-' : at(addr)} ${sizeBytes / MIB}`);
      trace.length = 0;
      return calls;
    },
    /** `address size state` of every block of every run. */
    layout: (): string[] =>
      allocator
        .snapshot()
        .map((segment) =>
          segment.blocks
            .map((block) => `${at(block.addr)}+${block.sizeBytes / MIB}${block.state === 'inactive' ? ' free' : ''}`)
            .join(', '),
        ),
  };
}

describe('expandable segments', () => {
  const conf = 'expandable_segments:True';

  it('cut off any remainder (vector 4), grow in units of 20 MiB (vector 5)', () => {
    const one = setUp({ conf });
    one.free(one.alloc(20));
    one.alloc(19);
    expect(one.layout()).toEqual(['0+19, 19+1 free']);
    const other = setUp({ conf });
    other.alloc(11);
    expect(other.layout()).toEqual(['0+11, 11+9 free']);
    const plain = setUp();
    plain.alloc(11);
    expect(plain.layout()).toEqual(['0+12']);
  });

  it('use the free tail before mapping more (vector 9), and give back whole units only (vector 10)', () => {
    const { alloc, free, reserved, layout, driverCalls, allocator } = setUp({ conf });
    const a = alloc(15);
    const b = alloc(15);
    expect(reserved()).toBe(40);
    free(a);
    const c = alloc(16);
    expect(reserved()).toBe(60);
    expect(driverCalls()).toEqual(['segment_map 0 20', 'segment_map 20 20', 'segment_map 40 20']);
    expect(layout()).toEqual(['0+15 free, 15+15, 30+16, 46+14 free']);
    free(b);
    allocator.flush();
    expect(driverCalls()).toEqual(['segment_unmap 0 20']);
    expect(layout()).toEqual(['20+10 free, 30+16, 46+14 free']);
    expect(reserved()).toBe(40);
    free(c);
    allocator.flush();
    expect(reserved()).toBe(0);
    expect(layout()).toEqual([]);
    // Wholly unmapped, the reservation itself is gone.
    expect([...allocator.allSegments()]).toEqual([]);
  });

  it('map only what the free block before the hole lacks', () => {
    const { alloc, driverCalls, layout } = setUp({ conf });
    alloc(15);
    alloc(22);
    expect(driverCalls()).toEqual(['segment_map 0 20', 'segment_map 20 20']);
    expect(layout()).toEqual(['0+15, 15+22, 37+3 free']);
  });

  it('keep to the best fit when the next block counts the same', () => {
    const { alloc, free, at, allocator } = setUp({ conf });
    const [, y, , w] = [alloc(15), alloc(25), alloc(15), alloc(25), alloc(20)];
    free(y);
    allocator.flush();
    free(w);
    // Free: 5 at 15 with 20 unmapped behind it, and 25 at 55 between blocks in use.
    expect(at(alloc(5).addr)).toBe(15);
  });

  it('map several pieces for one request when holes alternate with free blocks', () => {
    const { alloc, free, allocator, driverCalls, layout } = setUp({ conf });
    const blocks = [alloc(30), alloc(10), alloc(40), alloc(10), alloc(30)];
    free(blocks[0]!, blocks[2]!);
    allocator.flush();
    expect(driverCalls().slice(-2)).toEqual(['segment_unmap 0 20', 'segment_unmap 40 40']);
    // 20..30 is free, 30..40 in use, 80..90 in use: 0..20 unmapped, 20..40 free once it is freed, 40..80 unmapped.
    free(blocks[1]!);
    alloc(70);
    expect(driverCalls()).toEqual(['segment_map 0 20', 'segment_map 40 40']);
    expect(layout()).toEqual(['0+70, 70+10 free, 80+10, 90+30']);
  });

  it('stay mapped as far as they came when the device runs out', () => {
    const { alloc, free, fails, allocator, layout, driverCalls } = setUp({ conf, totalMib: 100 });
    const a = alloc(20);
    const b = alloc(20);
    const c = alloc(20);
    free(a);
    allocator.flush();
    driverCalls();
    free(c);
    // Free: 40..60 mapped, 60.. unmapped; 60 MiB of 100 are free, so 20 + 60 can be had and 20 + 80 cannot.
    expect(fails(100)).toBe(true);
    expect(driverCalls()).toEqual(['segment_unmap 40 20', 'oom - 100']);
    expect(layout()).toEqual(['20+20']);
    free(b);
  });

  it('count the grid from the reservation, whatever its address', () => {
    const { alloc, free, allocator, driverCalls } = setUp({ conf, baseMib: 1006 });
    const a = alloc(30);
    alloc(10);
    free(a);
    driverCalls();
    allocator.flush();
    expect(driverCalls()).toEqual(['segment_unmap 0 20']);
  });

  it('prefer an interior hole to the growing edge', () => {
    const { alloc, free, at } = setUp({ conf });
    const a = alloc(12);
    alloc(20);
    free(a);
    // Free: 12 at the front, 8 at the edge, behind which everything is unmapped.
    expect(at(alloc(5).addr)).toBe(0);
    expect(at(alloc(7).addr)).toBe(5);
    expect(at(alloc(8).addr)).toBe(32);
  });

  it('do not apply to pools with an allocator of their own', () => {
    const { alloc, allocator, driverCalls } = setUp({ conf });
    const pool = allocator.createPool({ kind: 'user', customAllocator: true });
    allocator.beginUsePool(pool);
    alloc(5);
    expect(driverCalls()).toEqual(['segment_alloc 0 20']);
  });

  it('keep reservations of streams and of small and large blocks apart', () => {
    const { alloc, allocator } = setUp({ conf });
    alloc(5);
    alloc(5, 9);
    alloc(0.5);
    expect(
      allocator.snapshot().map(({ totalBytes, stream, segmentType }) => [totalBytes / MIB, stream, segmentType]),
    ).toEqual([
      [20, 0, 'large'],
      [20, 9, 'large'],
      [2, 0, 'small'],
    ]);
    expect(allocator.statistics.segment.current).toBe(0);
    expect(allocator.statistics.inactiveSplitBytes.current).toBe(0);
  });
});

describe('max_split_size_mb', () => {
  it('keeps large blocks whole and apart (vector 7)', () => {
    const { alloc, free, at, driverCalls } = setUp({ conf: 'max_split_size_mb:100' });
    const cached = alloc(200);
    free(cached);
    driverCalls();
    alloc(90);
    expect(driverCalls()).toEqual(['segment_alloc 200 90']);
    free(alloc(100));
    driverCalls();
    alloc(91);
    expect(driverCalls()).toEqual(['segment_alloc 390 92']);
    const whole = alloc(185);
    expect([at(whole.addr), whole.sizeBytes / MIB]).toEqual([0, 200]);
    free(whole);
    alloc(180);
    expect(driverCalls()).toEqual(['segment_alloc 482 180']);
  });

  it('takes max_non_split_rounding_mb as the slack', () => {
    const { alloc, free, at } = setUp({ conf: 'max_split_size_mb:100,max_non_split_rounding_mb:50' });
    free(alloc(200));
    expect(at(alloc(151).addr)).toBe(0);
  });

  it('gives back one large enough segment, or the largest until they are enough, before flushing everything', () => {
    const one = setUp({ conf: 'max_split_size_mb:100', totalMib: 520 });
    one.free(one.alloc(150), one.alloc(300), one.alloc(50));
    one.driverCalls();
    one.alloc(120);
    // 150 and 300 are refused for 120 (slack 20), the driver has 20: the first of at least 120 goes.
    expect(one.driverCalls()).toEqual(['segment_free 0 150', 'segment_alloc 500 120']);
    const many = setUp({ conf: 'max_split_size_mb:100', totalMib: 520 });
    many.free(many.alloc(140), many.alloc(160), many.alloc(110), many.alloc(40));
    many.driverCalls();
    many.alloc(300);
    expect(many.driverCalls()).toEqual(['segment_free 140 160', 'segment_free 0 140', 'segment_alloc 450 300']);
    expect(many.allocator.statistics.numAllocRetries).toBe(0);
  });
});

describe('roundup_power2_divisions', () => {
  it('follows the table (vector 8)', () => {
    const settings = settingsFromConf('roundup_power2_divisions:[256:1,512:2,1024:4,>:8]');
    const rounded = (mib: number): number => roundSize(mib * MIB, settings) / MIB;
    expect([300, 600, 1300, 3000, 100].map(rounded)).toEqual([300, 768, 1536, 3072, 100]);
    expect(roundSize(1200, settingsFromConf('roundup_power2_divisions:2'))).toBe(1536);
    expect(roundSize(2 * GIB, settingsFromConf('roundup_power2_divisions:8'))).toBe(2 * GIB);
  });

  it('leaves entries between two listed keys at 0, and fills those below the first', () => {
    expect(settingsFromConf('roundup_power2_divisions:[4:2,32:8]').roundupPower2Divisions.slice(0, 8)).toEqual([
      2, 2, 2, 0, 0, 8, 0, 0,
    ]);
    expect(settingsFromConf('roundup_power2_divisions:4').roundupPower2Divisions).toEqual(new Array(16).fill(4));
  });
});

describe('large_segment_size_mb', () => {
  it('is the segment for requests below 10 MiB and the unit of expandable ones', () => {
    const plain = setUp({ conf: 'large_segment_size_mb:64' });
    plain.alloc(2);
    plain.alloc(12);
    expect(plain.driverCalls()).toEqual(['segment_alloc 0 64']);
    const mapped = setUp({ conf: 'large_segment_size_mb:64,expandable_segments:True' });
    mapped.alloc(70);
    expect(mapped.reserved()).toBe(128);
  });
});

describe('garbage_collection_threshold', () => {
  const conf = 'garbage_collection_threshold:0.5';

  it('frees the longest unused segments once more than its part of the fraction is reserved', () => {
    const { alloc, free, driverCalls, allocator } = setUp({ conf, totalMib: 1000, fraction: 1 });
    const [a, b, c] = [alloc(200), alloc(210), alloc(220)];
    free(a, b);
    for (let i = 0; i < 20; i += 1) free(alloc(205));
    driverCalls();
    // 630 of 500 wanted are reserved: 130 to reclaim. `b` served every round, `a` none, so only `a` is older than both
    // on average.
    alloc(230);
    expect(driverCalls()).toEqual(['segment_free 0 200', 'segment_alloc 630 230']);
    expect(allocator.statistics.numAllocRetries).toBe(0);
    free(c);
  });

  it('frees all of one age, though fewer would do', () => {
    const { alloc, free, driverCalls } = setUp({ conf, totalMib: 1000, fraction: 1 });
    const blocks = [alloc(200), alloc(210), alloc(220)];
    free(blocks[0]!, blocks[1]!);
    driverCalls();
    alloc(230);
    expect(driverCalls()).toEqual(['segment_free 0 200', 'segment_free 200 210', 'segment_alloc 630 230']);
  });

  it('does nothing without a fraction, and nothing below the threshold', () => {
    const without = setUp({ conf, totalMib: 1000 });
    without.free(without.alloc(300), without.alloc(310));
    without.driverCalls();
    without.alloc(320);
    expect(without.driverCalls()).toEqual(['segment_alloc 610 320']);
    const below = setUp({ conf, totalMib: 1000, fraction: 1 });
    below.free(below.alloc(200), below.alloc(210));
    below.driverCalls();
    below.alloc(220);
    expect(below.driverCalls()).toEqual(['segment_alloc 410 220']);
  });
});

describe('a memory fraction', () => {
  it('is a limit like the device, and the report says so', () => {
    const { allocator, alloc, free, driverCalls } = setUp({ totalMib: 1000, fraction: 0.25 });
    const held = alloc(100);
    free(alloc(120));
    driverCalls();
    const result = allocator.malloc(200 * MIB, 0);
    expect(driverCalls()).toEqual(['segment_free 100 120', 'oom - 200']);
    expect(result).toMatchObject({ ok: false, oom: { allowedBytes: 250 * MIB, deviceFreeBytes: 900 * MIB } });
    expect(allocator.malloc(150 * MIB, 0).ok).toBe(true);
    free(held);
  });

  it.each([0, 1.5, Number.NaN])('of %d is refused', (fraction) => {
    expect(() => setUp({ fraction })).toThrow(/memory fraction/);
  });
});

describe('private pools', () => {
  it('serve a capture on its stream, keep what they get, and free it only when nothing holds them', () => {
    const { allocator, alloc, free, driverCalls, reserved } = setUp();
    const pool = allocator.createPool();
    expect(pool).toEqual([1, 0]);
    expect(allocator.createPool({ kind: 'user' })).toEqual([0, 2]);
    allocator.beginCapture(pool, 5);
    const inside = alloc(30, 5);
    const outside = alloc(30, 0);
    allocator.endCapture(pool);
    expect(inside.segment.pool.id).toEqual(pool);
    expect(outside.segment.pool.id).toEqual([0, 0]);
    free(inside, outside);
    driverCalls();
    allocator.flush();
    expect(driverCalls()).toEqual(['segment_free 30 30']);
    expect(reserved()).toBe(30);
    allocator.releasePool(pool);
    allocator.flush();
    expect(driverCalls()).toEqual(['segment_free 0 30']);
  });

  it('are reported free in the message’s terms', () => {
    const { allocator, alloc, free } = setUp({ totalMib: 100 });
    const pool = allocator.createPool();
    allocator.beginCapture(pool, 0);
    const inside = alloc(40);
    allocator.endCapture(pool);
    free(inside);
    const result = allocator.malloc(70 * MIB, 0);
    expect(result).toMatchObject({
      ok: false,
      oom: { privatePoolFreeBytes: 40 * MIB, reservedBytes: 40 * MIB, allocatedBytes: 0 },
    });
  });

  it('forbid the flush while a capture runs', () => {
    const { allocator, alloc, free, fails, driverCalls } = setUp({ totalMib: 100 });
    free(alloc(60));
    const pool = allocator.createPool();
    allocator.beginCapture(pool, 0);
    driverCalls();
    expect(fails(50)).toBe(true);
    expect(driverCalls()).toEqual(['oom - 50']);
    expect(allocator.statistics.numAllocRetries).toBe(0);
    allocator.endCapture(pool);
    alloc(70);
    expect(driverCalls()).toEqual(['segment_free 0 60', 'segment_alloc 60 70']);
  });

  it('forbid it for use_mem_pool too up to 2.11, not from 2.12', () => {
    for (const [release, flushes] of [
      ['2.7', false],
      ['2.12', true],
    ] as const) {
      const { allocator, alloc, free, fails } = setUp({ totalMib: 100, release });
      free(alloc(60));
      const pool = allocator.createPool({ kind: 'user' });
      allocator.beginUsePool(pool);
      expect(fails(50)).toBe(!flushes);
    }
  });

  it('with use_on_oom serve a failing request of the default pool: after the flush in 2.7, before it in 2.12, never in 2.1', () => {
    const outcome = (release: '2.1' | '2.7' | '2.12'): string[] => {
      const { allocator, alloc, free, driverCalls, fails } = setUp({ totalMib: 100, release });
      const pool = allocator.createPool({ kind: 'user', useOnOom: true });
      allocator.beginUsePool(pool);
      const spare = alloc(50);
      allocator.endUsePool(pool);
      free(alloc(40), spare);
      driverCalls();
      // 10 of the device are free, 40 cached, 50 in the spare pool.
      const failed = fails(45);
      return [...driverCalls(), failed ? 'failed' : 'served'];
    };
    expect(outcome('2.1')).toEqual(['segment_free 50 40', 'segment_alloc 90 46', 'served']);
    expect(outcome('2.12')).toEqual(['served']);
    const scarce = (release: '2.1' | '2.7'): boolean => {
      const { allocator, alloc, free, fails } = setUp({ totalMib: 100, release });
      const pool = allocator.createPool({ kind: 'user', useOnOom: true });
      allocator.beginUsePool(pool);
      const spare = alloc(80);
      allocator.endUsePool(pool);
      free(spare);
      return fails(70);
    };
    expect(scarce('2.1')).toBe(true);
    expect(scarce('2.7')).toBe(false);
  });

  it('take the oldest of two redirections up to 2.11, the newest from 2.12', () => {
    for (const [release, expected] of [
      ['2.7', 0],
      ['2.12', 1],
    ] as const) {
      const { allocator, alloc } = setUp({ release });
      const pools = [allocator.createPool({ kind: 'user' }), allocator.createPool({ kind: 'user' })];
      for (const pool of pools) allocator.beginUsePool(pool);
      expect(alloc(5).segment.pool.id).toEqual(pools[expected]);
    }
  });

  it('with no_split hand blocks out whole', () => {
    const { allocator, alloc } = setUp();
    const pool = allocator.createPool({ kind: 'user', noSplit: true });
    allocator.beginUsePool(pool);
    expect(alloc(2).sizeBytes).toBe(20 * MIB);
    expect(alloc(3).sizeBytes).toBe(20 * MIB);
  });
});

describe('blocks that other streams use', () => {
  it('stay pending until the streams have passed the free, in order of the stream', () => {
    const { allocator, alloc, free, trace } = setUp();
    const [a, b] = [alloc(30), alloc(40)];
    allocator.recordStream(a, 7);
    allocator.recordStream(a, 8);
    allocator.recordStream(b, 7);
    free(a, b);
    const completed = (): number => trace.filter(({ action }) => action === 'free_completed').length;
    expect([
      completed(),
      allocator.statistics.activeBytes.current / MIB,
      allocator.statistics.allocatedBytes.current,
    ]).toEqual([0, 70, 0]);
    allocator.finishStream(7);
    expect(completed()).toBe(0);
    alloc(1);
    expect(completed()).toBe(1);
    expect(b.state).toBe('inactive');
    allocator.finishStream(8);
    alloc(1);
    expect(a.state).toBe('inactive');
  });

  it('ignore their own stream', () => {
    const { allocator, alloc, free } = setUp();
    const a = alloc(30, 4);
    allocator.recordStream(a, 4);
    free(a);
    expect(a.state).toBe('inactive');
  });

  it('are waited for by a flush, whose blocks are then not searched again: an OOM beside a block that fits', () => {
    const { allocator, alloc, free, fails, driverCalls, layout } = setUp({ totalMib: 100 });
    const base = alloc(90);
    free(base);
    const [pinned, pending] = [alloc(20), alloc(60)];
    allocator.recordStream(pending, 7);
    free(pending);
    driverCalls();
    expect(fails(50)).toBe(true);
    expect(driverCalls()).toEqual(['oom - 50']);
    expect(layout()).toEqual(['0+20, 20+70 free']);
    expect(fails(50)).toBe(false);
    free(pinned);
  });

  it('are not decided on during a capture', () => {
    const { allocator, alloc, free } = setUp();
    const a = alloc(30);
    allocator.recordStream(a, 7);
    const pool = allocator.createPool();
    allocator.beginCapture(pool, 5);
    free(a);
    alloc(1);
    allocator.finishStream(7);
    alloc(1);
    expect(a.state).toBe('active_pending_free');
    allocator.endCapture(pool);
    alloc(1);
    expect(a.state).toBe('active_pending_free');
    allocator.finishStream(7);
    alloc(1);
    expect(a.state).toBe('inactive');
  });

  it('can be completed by a record; stale events then mean nothing', () => {
    const { allocator, alloc, free } = setUp();
    const a = alloc(30);
    allocator.recordStream(a, 7);
    free(a);
    allocator.completeFree(a);
    const again = alloc(30);
    expect(again).toBe(a);
    allocator.recordStream(again, 8);
    free(again);
    allocator.finishStream(7);
    alloc(1);
    expect(again.state).toBe('active_pending_free');
    expect(() => allocator.free(again)).toThrow(/free of a active_pending_free block/);
    expect(() => allocator.recordStream(again, 9)).toThrow(/record_stream of a/);
  });
});

describe('equal blocks', () => {
  /** Two free blocks of 30 MiB; the one at the higher address was made first, or its segment was. */
  const choice = (release: '2.7' | '2.12' | '2.13'): string => {
    const { alloc, free, at } = setUp({ release, direction: 'descending' });
    const [first, second] = [alloc(30), alloc(30)];
    free(first, second);
    const taken = alloc(30);
    return at(taken.addr) === -30 ? 'first segment' : 'second segment';
  };

  it('are taken by address up to 2.11, by age after', () => {
    expect(choice('2.7')).toBe('second segment');
    expect(choice('2.12')).toBe('first segment');
    expect(choice('2.13')).toBe('first segment');
  });

  it('tell the two counters apart: the front of a split is a new block in an old segment', () => {
    const choose = (release: '2.12' | '2.13'): number => {
      const { alloc, free, at } = setUp({ release });
      // Segment 1 is cut late, so its front block is younger than the block of segment 2.
      const old = alloc(50);
      const young = alloc(30);
      free(old);
      const front = alloc(30);
      alloc(18.5);
      free(front, young);
      return at(alloc(30).addr);
    };
    expect(choose('2.13')).toBe(0);
    expect(choose('2.12')).toBe(50);
  });
});

describe('settings strings', () => {
  it.each([
    ['expandable_segments:true', /neither True nor False/],
    ['max_split_size_mb:10', /at least 20/],
    ['max_split_size_mb:32,large_segment_size_mb:64', /below large_segment_size_mb/],
    ['garbage_collection_threshold:1.5', /between 0 and 1/],
    ['roundup_power2_divisions:3', /power of two/],
    ['roundup_power2_divisions:[256:3]', /power of two/],
    ['large_segment_size_mb:10', /at least 11/],
    ['expandable_segmants:True', /not a known option/],
  ])('%s is a problem', (conf, problem) => {
    expect(readAllocConf(conf).problems.join('; ')).toMatch(problem);
    expect(() => settingsFromConf(conf)).toThrow(problem);
  });

  it('are read whole, blanks and options without effect included', () => {
    expect(readAllocConf('')).toEqual({ settings: DEFAULT_SETTINGS, memoryFraction: null, problems: [] });
    expect(
      readAllocConf(
        ' expandable_segments:True, max_split_size_mb:512 ,roundup_power2_divisions:[64:2,>:4],garbage_collection_threshold:0.8,' +
          'backend:native,per_process_memory_fraction:0.5',
      ),
    ).toMatchObject({
      settings: { expandableSegments: true, maxSplitBytes: 512 * MIB, garbageCollectionThreshold: 0.8 },
      memoryFraction: 0.5,
      problems: [],
    });
    expect(settingsFromConf('').maxSplitBytes).toBe(Number.POSITIVE_INFINITY);
    expect(KIB).toBe(1024);
  });
});
