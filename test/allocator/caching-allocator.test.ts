import { describe, expect, it } from 'vitest';
import { createDriver, settingsFromConf } from '../../samples/generate/simulate/simulated-driver.js';
import { formatOomSize, oomMessage } from '../../samples/generate/write/oom-message.js';
import { CachingAllocator, type TraceEntry } from '../../src/allocator/caching/caching-allocator.js';
import { roundSize } from '../../src/allocator/rounding.js';
import { DEFAULT_SETTINGS, readAllocConf } from '../../src/allocator/settings.js';
import { GIB, KIB, MIB } from '../../src/model/units.js';

function setUp(driver = createDriver({ totalBytes: 64 * GIB })) {
  const trace: TraceEntry<string>[] = [];
  const allocator = new CachingAllocator<string>({ driver, trace: (entry) => trace.push(entry) });
  const alloc = (bytes: number, stack: string | null = null) => {
    const result = allocator.malloc(bytes, 0, stack);
    if (!result.ok) throw new Error(`unexpected OOM: ${JSON.stringify(result.oom)}`);
    return result.block;
  };
  return { allocator, trace, alloc };
}

describe('stacks', () => {
  it('of a free are its own, or of the allocation if there is none', () => {
    const { allocator, trace, alloc } = setUp();
    allocator.free(alloc(512, 'alloc'), 'free');
    allocator.free(alloc(512, 'alloc'));
    const stacks = trace.filter((entry) => entry.action.startsWith('free')).map((entry) => entry.stack);
    expect(stacks).toEqual(['free', 'free', 'alloc', 'alloc']);
    expect(allocator.snapshot()[0]!.blocks[0]!.stack).toBeNull();
  });

  it('of what a flush gives back are those of its call, or of the request that needs it', () => {
    const { allocator, trace, alloc } = setUp(createDriver({ totalBytes: 100 * MIB }));
    allocator.free(alloc(30 * MIB));
    trace.length = 0;
    allocator.flush('flush', 5);
    expect(trace).toMatchObject([{ action: 'segment_free', stack: 'flush', timeUs: 5 }]);
    allocator.free(alloc(60 * MIB));
    trace.length = 0;
    alloc(70 * MIB, 'retry');
    expect(trace.map(({ action, stack }) => `${action} ${stack}`)).toEqual([
      'segment_free retry',
      'segment_alloc retry',
      'alloc retry',
    ]);
  });
});

describe('out of memory', () => {
  it('is a result with the numbers of the message; the trace shows the rounded request and the device free bytes', () => {
    const driver = createDriver({ totalBytes: 100 * MIB, nonTorchBytes: 10 * MIB, otherProcessBytes: 5 * MIB });
    const { allocator, trace, alloc } = setUp(driver);
    alloc(2 * MIB);
    allocator.free(alloc(30 * MIB));
    trace.length = 0;
    const result = allocator.malloc(65 * MIB + 1, 3, 'here', 77);
    const sizes = { requestedBytes: 65 * MIB + 1, roundedBytes: 65 * MIB + 512, segmentBytes: 66 * MIB };
    const device = { deviceTotalBytes: 100 * MIB, deviceFreeBytes: 65 * MIB, processBytes: 30 * MIB };
    const held = { allocatedBytes: 2 * MIB, reservedBytes: 20 * MIB, privatePoolFreeBytes: 0 };
    expect(result).toEqual({ ok: false, oom: { ...sizes, stream: 3, ...device, allowedBytes: null, ...held } });
    const request = { sizeBytes: 65 * MIB + 512, stream: 3, poolId: [0, 0], timeUs: 77, stack: 'here' };
    expect(trace).toMatchObject([{ action: 'segment_free', sizeBytes: 30 * MIB }, {}]);
    expect(trace[1]).toEqual({ action: 'oom', addr: null, deviceFreeBytes: 65 * MIB, ...request });
    expect(allocator.statistics).toMatchObject({ numAllocRetries: 1, numOoms: 1 });
    if (result.ok) return;
    expect(oomMessage(result.oom, 2)).toBe(
      'CUDA out of memory. Tried to allocate 66.00 MiB. GPU 2 has a total capacity of 100.00 MiB of which 65.00 MiB is free. ' +
        'Including non-PyTorch memory, this process has 30.00 MiB memory in use. Of the allocated memory 2.00 MiB is allocated by ' +
        'PyTorch, and 18.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting ' +
        'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  ' +
        '(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)',
    );
  });

  it('counts memory outside the allocator against the same budget', () => {
    const driver = createDriver({ totalBytes: 64 * MIB });
    const { allocator } = setUp(driver);
    expect(driver.setNonTorchBytes(40 * MIB)).toBe(true);
    expect(allocator.malloc(30 * MIB, 0).ok).toBe(false);
    expect(driver.setNonTorchBytes(30 * MIB)).toBe(true);
    expect(allocator.malloc(30 * MIB, 0).ok).toBe(true);
    expect(driver.setNonTorchBytes(40 * MIB)).toBe(false);
  });

  it.each([
    [1, '1 bytes'],
    [KIB, '1024 bytes'],
    [KIB + 512, '1.50 KiB'],
    [MIB, '1024.00 KiB'],
    [GIB, '1024.00 MiB'],
    [79.109375 * GIB, '79.11 GiB'],
    [2048 * GIB, '2048.00 GiB'],
    // Ties as CPython's and glibc's printf round them.
    [317.625 * MIB, '317.62 MiB'],
    [2.375 * MIB, '2.38 MiB'],
    [1.125 * KIB, '1.12 KiB'],
  ])('prints %d bytes as %s', (bytes, text) => {
    expect(formatOomSize(bytes)).toBe(text);
  });
});

describe('refusals', () => {
  it.each([0, -1, 1.5, Number.NaN, 2 ** 60])('refuses a request of %d bytes', (bytes) => {
    expect(() => setUp().allocator.malloc(bytes, 0)).toThrow(/malloc of/);
  });

  it.each([0, 1.5, Number.NaN])('refuses a memory fraction of %d', (memoryFraction) => {
    const driver = createDriver({ totalBytes: GIB });
    expect(() => new CachingAllocator({ driver, memoryFraction })).toThrow(/memory fraction/);
  });
});

describe('settings', () => {
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
    const conf =
      ' expandable_segments:True, max_split_size_mb:512 ,roundup_power2_divisions:[64:2,>:4],' +
      'garbage_collection_threshold:0.8,backend:native,per_process_memory_fraction:0.5';
    const settings = { expandableSegments: true, maxSplitBytes: 512 * MIB, garbageCollectionThreshold: 0.8 };
    expect(readAllocConf(conf)).toMatchObject({ settings, memoryFraction: 0.5, problems: [] });
    expect(settingsFromConf('').maxSplitBytes).toBe(Number.POSITIVE_INFINITY);
  });

  it('of roundup_power2_divisions leave entries between two listed keys at 0, and fill those below the first', () => {
    const divisions = (text: string) => settingsFromConf(`roundup_power2_divisions:${text}`).roundupPower2Divisions;
    expect(divisions('[4:2,32:8]').slice(0, 8)).toEqual([2, 2, 2, 0, 0, 8, 0, 0]);
    expect(divisions('4')).toEqual(new Array(16).fill(4));
    expect(roundSize(1200, settingsFromConf('roundup_power2_divisions:2'))).toBe(1536);
    expect(roundSize(2 * GIB, settingsFromConf('roundup_power2_divisions:8'))).toBe(2 * GIB);
  });
});
