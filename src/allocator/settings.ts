/**
 * Settings of PyTorch's CUDA caching allocator, and the sizes it works with. Upstream: torch `c10/cuda/CUDACachingAllocator.cpp`
 * (constants) and `c10/cuda/CUDAAllocatorConfig.cpp` (settings).
 */
import { MIB } from '../model/units.js';

/** Every block is a multiple of this. */
export const MIN_BLOCK_BYTES = 512;
/** Rounded sizes up to this live in the small pool. */
export const SMALL_BYTES = MIB;
/** Segment of the small pool, and page unit of small expandable segments. */
export const SMALL_SEGMENT_BYTES = 2 * MIB;
/** From here on a cudaMalloc segment has the exact size, rounded up to {@link LARGE_ROUND_BYTES}. */
export const MIN_LARGE_ALLOC_BYTES = 10 * MIB;
export const LARGE_ROUND_BYTES = 2 * MIB;
/** Segment for requests between the two bounds above, and page unit of large expandable segments; configurable from torch 2.11. */
export const DEFAULT_LARGE_SEGMENT_BYTES = 20 * MIB;
/** A remainder in a cudaMalloc segment of the large pool is cut off only when it exceeds this. */
export const LARGE_REMAINDER_BYTES = MIB;

export interface AllocatorSettings {
  readonly expandableSegments: boolean;
  /** `max_split_size_mb` in bytes; Infinity = unlimited. */
  readonly maxSplitBytes: number;
  readonly maxNonSplitRoundingBytes: number;
  readonly largeSegmentBytes: number;
  /** 0 = off; has no effect without a memory fraction. */
  readonly garbageCollectionThreshold: number;
  /** 16 entries: divisions for sizes from 1 MiB, 2 MiB, … 32 GiB; 0 or 1 = no power-of-two rounding. */
  readonly roundupPower2Divisions: readonly number[];
}

export const DEFAULT_SETTINGS: AllocatorSettings = {
  expandableSegments: false,
  maxSplitBytes: Number.POSITIVE_INFINITY,
  maxNonSplitRoundingBytes: DEFAULT_LARGE_SEGMENT_BYTES,
  largeSegmentBytes: DEFAULT_LARGE_SEGMENT_BYTES,
  garbageCollectionThreshold: 0,
  roundupPower2Divisions: new Array<number>(16).fill(0),
};

/**
 * Reads the `allocator_settings` of a snapshot (flattened: `roundup_power2_divisions.1` and so on). Keys the file lacks keep torch's
 * defaults; `max_non_split_rounding_mb` and `large_segment_size_mb` are not exported as keys and come from the settings string.
 */
export function settingsFromSnapshot(exported: ReadonlyMap<string, string>): AllocatorSettings {
  const conf = exported.get('PYTORCH_CUDA_ALLOC_CONF') ?? exported.get('PYTORCH_ALLOC_CONF') ?? '';
  const fromConf = (key: string): number | undefined => {
    const match = new RegExp(`(?:^|,)\\s*${key}\\s*:\\s*(\\d+)`).exec(conf);
    return match === null ? undefined : Number(match[1]);
  };
  const number = (key: string): number | undefined => {
    const value = Number(exported.get(key) ?? Number.NaN);
    return Number.isFinite(value) ? value : undefined;
  };
  const maxSplit = number('max_split_size') ?? -1;
  const largeSegmentBytes = (fromConf('large_segment_size_mb') ?? DEFAULT_LARGE_SEGMENT_BYTES / MIB) * MIB;
  const nonSplit = fromConf('max_non_split_rounding_mb');
  return {
    expandableSegments: /^true$/i.test(exported.get('expandable_segments') ?? ''),
    maxSplitBytes: maxSplit < 0 ? Number.POSITIVE_INFINITY : maxSplit,
    maxNonSplitRoundingBytes: nonSplit === undefined ? largeSegmentBytes : nonSplit * MIB,
    largeSegmentBytes,
    garbageCollectionThreshold: number('garbage_collection_threshold') ?? 0,
    roundupPower2Divisions: Array.from({ length: 16 }, (_, i) => number(`roundup_power2_divisions.${2 ** i}`) ?? 0),
  };
}
