/**
 * Settings of PyTorch's CUDA caching allocator, and the sizes it works with. Upstream: torch
 * `c10/cuda/CUDACachingAllocator.cpp` (constants) and `c10/cuda/CUDAAllocatorConfig.cpp` (settings).
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
/**
 * Segment for requests between the two bounds above, and page unit of large expandable segments; configurable from
 * torch 2.11.
 */
export const DEFAULT_LARGE_SEGMENT_BYTES = 20 * MIB;
/** A remainder in a cudaMalloc segment of the large pool is cut off only when it exceeds this. */
export const LARGE_REMAINDER_BYTES = MIB;

/** What the driver deals in: segments, mappings and limits are compared in multiples of it. */
export const PAGE_BYTES = 2 * MIB;

export interface AllocatorSettings {
  readonly expandableSegments: boolean;
  /** `max_split_size_mb` in bytes; Infinity = unlimited. */
  readonly maxSplitBytes: number;
  readonly maxNonSplitRoundingBytes: number;
  readonly largeSegmentBytes: number;
  /** 0 = off; without effect unless a memory fraction is set. */
  readonly garbageCollectionThreshold: number;
  /** 16 entries: divisions for sizes from 1 MiB, 2 MiB, … 32 GiB; 0 or 1 = no power-of-two rounding. */
  readonly roundupPower2Divisions: readonly number[];
  /**
   * One division keeps the requested size, without rounding to 512: releases before torch 2.4 (pull request 126830).
   */
  readonly keepsSizeAtOne?: boolean;
  /** What of the divisions was not recorded and is not decided by what was requested; absent where all is known. */
  readonly openDivisions?: OpenDivisions;
}

export interface OpenDivisions {
  /** By interval, all that explain the recording. */
  readonly possible: readonly (readonly number[])[];
  /** Tables that explain the recording and round its requests otherwise. */
  readonly otherTables: readonly (readonly number[])[];
}

/** 16 intervals of `roundup_power2_divisions`: from 1 MiB, 2 MiB, … 32 GiB. */
export const ROUNDUP_INTERVALS = 16;

/** What an interval can have: none, and powers of two up to those that no request of 64 GiB is rounded by. */
export const POSSIBLE_DIVISIONS: readonly number[] = [0, ...Array.from({ length: 28 }, (_, i) => 2 ** i)];

/** No power-of-two rounding: the one array of zeros, so that it is known by identity. */
export const NO_DIVISIONS: readonly number[] = Object.freeze(new Array<number>(ROUNDUP_INTERVALS).fill(0));

export const DEFAULT_SETTINGS: AllocatorSettings = {
  expandableSegments: false,
  maxSplitBytes: Number.POSITIVE_INFINITY,
  maxNonSplitRoundingBytes: DEFAULT_LARGE_SEGMENT_BYTES,
  largeSegmentBytes: DEFAULT_LARGE_SEGMENT_BYTES,
  garbageCollectionThreshold: 0,
  roundupPower2Divisions: NO_DIVISIONS,
};

/** The settings of a string, and the parts that torch would refuse. */
export interface AllocConf {
  readonly settings: AllocatorSettings;
  /** `per_process_memory_fraction` (torch 2.10); null if not given. */
  readonly memoryFraction: number | null;
  /** One sentence per part that torch refuses or this project does not know; such parts do not change `settings`. */
  readonly problems: readonly string[];
}

/** Options that change no decision of the allocator model. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'backend',
  'release_lock_on_cudamalloc',
  'release_lock_on_hipmalloc',
  'pinned_use_cuda_host_register',
  'pinned_use_hip_host_register',
  'pinned_num_register_threads',
  'pinned_use_background_threads',
  'pinned_reserve_segment_size_mb',
  'pinned_max_round_threshold_mb',
  'pinned_max_cached_size_mb',
  'pinned_free_catch_all',
  'graph_capture_record_stream_reuse',
  'expandable_segments_fast_reclaim',
]);

/**
 * Reads `PYTORCH_CUDA_ALLOC_CONF` (`PYTORCH_ALLOC_CONF`). Upstream: `CUDAAllocatorConfig::parseArgs`; as there, each
 * parse starts from the defaults, and values are case-sensitive. What-if questions start from what was recorded
 * instead: `from`.
 */
export function readAllocConf(text: string, from: AllocatorSettings = DEFAULT_SETTINGS): AllocConf {
  const problems: string[] = [];
  const settings: { -readonly [K in keyof AllocatorSettings]: AllocatorSettings[K] } = { ...from };
  let memoryFraction: number | null = null;
  let nonSplitBytes: number | null = null;
  const megabytes = (key: string, value: string, least: number): number | null => {
    const count = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (count >= least) return count * MIB;
    problems.push(`${key}:${value} is not a whole number of at least ${least}`);
    return null;
  };
  const fraction = (key: string, value: string): number | null => {
    const number = value === '' ? Number.NaN : Number(value);
    if (number > 0 && number <= 1) return number;
    problems.push(`${key}:${value} is not between 0 and 1`);
    return null;
  };
  for (const [key, value] of confPairs(text)) {
    if (key === 'expandable_segments') {
      if (value === 'True' || value === 'False') settings.expandableSegments = value === 'True';
      else problems.push(`${key}:${value} is neither True nor False`);
    } else if (key === 'max_split_size_mb') {
      settings.maxSplitBytes = megabytes(key, value, DEFAULT_LARGE_SEGMENT_BYTES / MIB) ?? settings.maxSplitBytes;
    } else if (key === 'max_non_split_rounding_mb') {
      nonSplitBytes = megabytes(key, value, DEFAULT_LARGE_SEGMENT_BYTES / MIB) ?? nonSplitBytes;
    } else if (key === 'large_segment_size_mb') {
      settings.largeSegmentBytes = megabytes(key, value, MIN_LARGE_ALLOC_BYTES / MIB + 1) ?? settings.largeSegmentBytes;
    } else if (key === 'garbage_collection_threshold') {
      settings.garbageCollectionThreshold = fraction(key, value) ?? settings.garbageCollectionThreshold;
    } else if (key === 'per_process_memory_fraction') {
      memoryFraction = fraction(key, value) ?? memoryFraction;
    } else if (key === 'roundup_power2_divisions') {
      const table = roundupTable(value);
      if (table === null)
        problems.push(`${key}:${value} is neither a power of two nor a list of [size:power of two, …]`);
      else {
        settings.roundupPower2Divisions = table;
        delete settings.openDivisions;
      }
    } else if (!WITHOUT_EFFECT.has(key)) {
      problems.push(`${key} is not a known option`);
    }
  }
  if (from === DEFAULT_SETTINGS || nonSplitBytes !== null)
    settings.maxNonSplitRoundingBytes = nonSplitBytes ?? settings.largeSegmentBytes;
  if (settings.maxSplitBytes < settings.largeSegmentBytes) {
    // A segment shared by several blocks could then count as oversize, which is freed without looking at its
    // neighbours.
    problems.push(`max_split_size_mb:${settings.maxSplitBytes / MIB} is below large_segment_size_mb`);
    settings.maxSplitBytes = settings.largeSegmentBytes;
  }
  return { settings, memoryFraction, problems };
}

/**
 * Settings as they are written after `PYTORCH_CUDA_ALLOC_CONF=`: what differs from torch's defaults; empty if nothing
 * does.
 */
export function confText(settings: AllocatorSettings): string {
  const parts: string[] = [];
  if (settings.expandableSegments) parts.push('expandable_segments:True');
  if (Number.isFinite(settings.maxSplitBytes)) parts.push(`max_split_size_mb:${settings.maxSplitBytes / MIB}`);
  if (settings.maxNonSplitRoundingBytes !== settings.largeSegmentBytes)
    parts.push(`max_non_split_rounding_mb:${settings.maxNonSplitRoundingBytes / MIB}`);
  if (settings.largeSegmentBytes !== DEFAULT_LARGE_SEGMENT_BYTES)
    parts.push(`large_segment_size_mb:${settings.largeSegmentBytes / MIB}`);
  if (settings.garbageCollectionThreshold > 0)
    parts.push(`garbage_collection_threshold:${settings.garbageCollectionThreshold}`);
  const { roundupPower2Divisions: divisions, openDivisions: open } = settings;
  const possible = open?.possible ?? divisions.map((division) => (division > 1 ? [division] : [0, 1]));
  const common = POSSIBLE_DIVISIONS.filter((division) => possible.every((values) => values.includes(division)));
  // What the default explains too shows no setting.
  if (!common.includes(0)) {
    const list = possible.map((values, i) => `${2 ** i}:${open === undefined ? divisions[i] : divisionsText(values)}`);
    parts.push(`roundup_power2_divisions:${common.length === 1 ? common[0] : `[${list.join(',')}]`}`);
  }
  return parts.join(',');
}

/** `?` where an interval can have any, `4|8` for one of two, `64..` for 64 and any more. */
function divisionsText(possible: readonly number[]): string {
  if (possible.length === POSSIBLE_DIVISIONS.length) return '?';
  // What no request is rounded by are the largest.
  const isOpenEnded = possible.includes(POSSIBLE_DIVISIONS.at(-1)!);
  const last = isOpenEnded ? POSSIBLE_DIVISIONS.findLastIndex((division) => !possible.includes(division)) + 1 : 99;
  const listed = possible.filter((division) => division <= (POSSIBLE_DIVISIONS[last] ?? division));
  return `${listed.sort((a, b) => a - b).join('|')}${isOpenEnded ? '..' : ''}`;
}

/** `key:value` parts; commas inside brackets belong to the value. */
function confPairs(text: string): (readonly [string, string])[] {
  return [...text.replace(/\s+/g, '').matchAll(/([^,:[\]]+)(?::(\[[^\]]*\]|[^,]*))?/g)].map((match) => [
    match[1]!,
    match[2] ?? '',
  ]);
}

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(value) && value > 0 && Number.isInteger(Math.log2(value));
}

/**
 * One value fills all entries. In a list `[256:1,512:2,>:8]` the first pair also fills all lower entries, `>` all after
 * the last key; entries between two listed keys stay 0.
 */
function roundupTable(value: string): number[] | null {
  const table = new Array<number>(ROUNDUP_INTERVALS).fill(0);
  if (!value.startsWith('[')) return isPowerOfTwo(Number(value)) ? table.fill(Number(value)) : null;
  let last = -1;
  for (const [index, pair] of value.slice(1, -1).split(',').entries()) {
    const [key = '', text = ''] = pair.split(':');
    const divisions = text === '' ? Number.NaN : Number(text);
    if (divisions !== 0 && !isPowerOfTwo(divisions)) return null;
    if (key === '>') {
      table.fill(divisions, last + 1);
      continue;
    }
    if (!isPowerOfTwo(Number(key))) return null;
    last = Math.min(ROUNDUP_INTERVALS - 1, Math.log2(Number(key)));
    if (index === 0) table.fill(divisions, 0, last);
    table[last] = divisions;
  }
  return table;
}

/**
 * Reads the `allocator_settings` of a snapshot (flattened: `roundup_power2_divisions.1` and so on). Keys the file lacks
 * keep torch's defaults; `max_non_split_rounding_mb` and `large_segment_size_mb` are not exported as keys and come from
 * the settings string.
 */
export function settingsFromSnapshot(exported: ReadonlyMap<string, string>): AllocatorSettings {
  const conf = readAllocConf(exported.get('PYTORCH_CUDA_ALLOC_CONF') ?? exported.get('PYTORCH_ALLOC_CONF') ?? '');
  const number = (key: string): number | undefined => {
    const value = Number(exported.get(key) ?? Number.NaN);
    return Number.isFinite(value) ? value : undefined;
  };
  const maxSplit = number('max_split_size') ?? -1;
  const divisions = Array.from(
    { length: ROUNDUP_INTERVALS },
    (_, i) => number(`roundup_power2_divisions.${2 ** i}`) ?? 0,
  );
  return {
    expandableSegments: /^true$/i.test(exported.get('expandable_segments') ?? ''),
    maxSplitBytes: maxSplit < 0 ? Number.POSITIVE_INFINITY : maxSplit,
    maxNonSplitRoundingBytes: conf.settings.maxNonSplitRoundingBytes,
    largeSegmentBytes: conf.settings.largeSegmentBytes,
    garbageCollectionThreshold: number('garbage_collection_threshold') ?? 0,
    roundupPower2Divisions: divisions.every((division) => division <= 1) ? NO_DIVISIONS : divisions,
  };
}
