/**
 * One rule of the allocator model broken at a time, as a change of the compiled text. Each must be found exactly once:
 * a mutant that no longer applies proves nothing.
 */
export interface Mutant {
  readonly what: string;
  /** Compiled file of `src/allocator`. */
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
  /** Recordings of real devices notice it too. */
  readonly isReal: boolean;
}

const ALLOCATOR = 'caching/caching-allocator.js';
const VICTIMS = 'caching/victims.js';
const EXPANDABLE = 'caching/expandable-segments.js';
const SPACE = 'caching/block-space.js';
const ROUNDING = 'rounding.js';

const mutant = (what: string, file: string, from: string | RegExp, to: string, isReal = false): Mutant => ({
  what,
  file,
  from,
  to,
  isReal,
});

export const MUTANTS: readonly Mutant[] = [
  mutant('ties by the highest address', SPACE, '? block.addr', '? -block.addr', true),
  mutant('ties by block counter', SPACE, '? block.addr', '? block.counter', true),
  mutant('ties by segment counter', SPACE, '? block.addr', '? block.segment.counter', true),
  mutant('block counters are those of the remainder', SPACE, ': block.segment.counter;', ': block.counter;'),
  mutant(
    'first fit by address',
    ALLOCATOR,
    /if \(set === undefined \|\| !set\.seek\(rounded\)\)\s+return null;/,
    `if (set === undefined || !set.seek(rounded)) return null;
     let lowest = set.current();
     for (const one of set.values()) if (one.sizeBytes >= rounded && one.addr < lowest.addr) lowest = one;
     set.lowerBound(lowest.sizeBytes, lowest.tie, lowest.addr);`,
    true,
  ),
  mutant(
    'worst fit',
    ALLOCATOR,
    'if (isExpandable(set.current())) {',
    'while (set.advance());\nif (isExpandable(set.current())) {',
    true,
  ),
  mutant(
    'rounding to 1024',
    ROUNDING,
    /\}\s+return roundUp\(requestedBytes, MIN_BLOCK_BYTES\);/,
    '}\nreturn roundUp(requestedBytes, 1024);',
    true,
  ),
  mutant(
    'rounding to 256',
    ROUNDING,
    /\}\s+return roundUp\(requestedBytes, MIN_BLOCK_BYTES\);/,
    '}\nreturn roundUp(requestedBytes, 256);',
    true,
  ),
  mutant('small remainders from 1024', ALLOCATOR, 'return rest >= MIN_BLOCK_BYTES;', 'return rest >= 1024;', true),
  mutant(
    'large remainders above 0.5 MiB',
    ALLOCATOR,
    'rest > LARGE_REMAINDER_BYTES',
    'rest > LARGE_REMAINDER_BYTES / 2',
    true,
  ),
  mutant(
    'large remainders of exactly 1 MiB',
    ALLOCATOR,
    'rest > LARGE_REMAINDER_BYTES',
    'rest >= LARGE_REMAINDER_BYTES',
  ),
  mutant(
    'segments in steps of 1 MiB',
    ROUNDING,
    'roundUp(roundedBytes, LARGE_ROUND_BYTES)',
    'roundUp(roundedBytes, LARGE_ROUND_BYTES / 2)',
    true,
  ),
  mutant(
    '10 MiB in a shared segment',
    ROUNDING,
    'roundedBytes < MIN_LARGE_ALLOC_BYTES',
    'roundedBytes <= MIN_LARGE_ALLOC_BYTES',
    true,
  ),
  mutant(
    '1 MiB in the large pool',
    ROUNDING,
    'return roundedBytes <= SMALL_BYTES;',
    'return roundedBytes < SMALL_BYTES;',
    true,
  ),
  mutant(
    'small pool up to 2 MiB',
    ROUNDING,
    'return roundedBytes <= SMALL_BYTES;',
    'return roundedBytes <= 2 * SMALL_BYTES;',
    true,
  ),
  mutant(
    'a flush begins with the small pool',
    ALLOCATOR,
    /this\.release\(this\.pools\.default\.large\);\s+this\.release\(this\.pools\.default\.small\);/,
    'this.release(this.pools.default.small);\nthis.release(this.pools.default.large);',
    true,
  ),
  mutant('a flush leaves the small pool alone', ALLOCATOR, 'this.release(this.pools.default.small);', '', true),
  mutant('a flush takes streams in descending order', SPACE, 'a - b', 'b - a'),
  mutant('a flush keeps expandable pages', ALLOCATOR, 'this.expandable.unmap(block);', 'continue;'),
  mutant('no preference for interior blocks', ALLOCATOR, 'preferInterior(set);', ';', true),
  mutant(
    'interior blocks of equal reach win',
    ALLOCATOR,
    'reach(next) >= reach(set.current())',
    'reach(next) > reach(set.current())',
    true,
  ),
  mutant(
    'pages are sought without the free block before',
    EXPANDABLE,
    "range.prev?.state === 'inactive' ? range.prev : range",
    'range',
    true,
  ),
  mutant(
    'the highest place for pages',
    EXPANDABLE,
    'of pool.unmapped.get(stream) ?? []',
    'of [...(pool.unmapped.get(stream) ?? [])].reverse()',
  ),
  mutant(
    'remainders of expandable segments above 1 MiB',
    ALLOCATOR,
    "pool.kind === 'small' || this.settings.expandableSegments",
    "pool.kind === 'small'",
    true,
  ),
  mutant(
    'only whole aligned free blocks are unmapped',
    EXPANDABLE,
    'if (low >= high)',
    'if (low >= high || low !== block.addr || high !== block.addr + block.sizeBytes)',
  ),
  mutant(
    'the page grid begins at address 0',
    EXPANDABLE,
    'segment.addr + Math.ceil((addr - segment.addr) / unit) * unit',
    'Math.ceil(addr / unit) * unit',
  ),
  mutant(
    'pages of 2 MiB for large blocks',
    EXPANDABLE,
    'const unit = block.segment.unitBytes;',
    'const unit = 2 ** 21;',
    true,
  ),
  mutant(
    'no joining with the block before',
    SPACE,
    /if \(prev !== null && prev\.state/,
    'if (prev !== null && false && prev.state',
    true,
  ),
  mutant(
    'no joining with the block behind',
    SPACE,
    /if \(next !== null && next\.state/,
    'if (next !== null && false && next.state',
    true,
  ),
  mutant(
    'the rear of a split is handed out',
    ALLOCATOR,
    'const front = this.space.splitFront(block, rounded);\n',
    'const front = this.space.splitRear(block, block.sizeBytes - rounded);\n',
    true,
  ),
  mutant(
    'oversize blocks serve small requests',
    ALLOCATOR,
    'rounded < settings.maxSplitBytes && sizeBytes >= settings.maxSplitBytes',
    'false',
  ),
  mutant(
    'oversize only above the limit',
    ALLOCATOR,
    'rounded < settings.maxSplitBytes && sizeBytes >= settings.maxSplitBytes',
    'rounded < settings.maxSplitBytes && sizeBytes > settings.maxSplitBytes',
  ),
  mutant('oversize requests are split', ALLOCATOR, 'rounded < this.settings.maxSplitBytes && rest', 'rest'),
  mutant(
    'no slack for oversize reuse',
    ALLOCATOR,
    'sizeBytes >= rounded + settings.maxNonSplitRoundingBytes',
    'sizeBytes >= rounded + 1',
  ),
  mutant(
    'unlimited slack for oversize reuse',
    ALLOCATOR,
    'sizeBytes >= rounded + settings.maxNonSplitRoundingBytes',
    'false',
  ),
  mutant(
    'slack up to and including its limit',
    ALLOCATOR,
    'sizeBytes >= rounded + settings.maxNonSplitRoundingBytes',
    'sizeBytes > rounded + settings.maxNonSplitRoundingBytes',
  ),
  mutant('oversize segments are kept', ALLOCATOR, 'this.releaseOversize(pool, stream, rounded)', 'false'),
  mutant(
    'the largest oversize segment goes first',
    VICTIMS,
    'const least = Math.max(rounded, maxSplitBytes);',
    'const least = Number.MAX_SAFE_INTEGER;',
  ),
  mutant('garbage of exactly the mean age stays', VICTIMS, 'if (age < limit)', 'if (age <= limit)'),
  mutant('garbage of any age goes', VICTIMS, 'if (age < limit)', 'if (false)'),
  mutant(
    'garbage collection stops at its target',
    VICTIMS,
    'if (age < limit)',
    'if (age < limit || reclaimed >= bytes)',
  ),
  mutant(
    'no garbage collection',
    ALLOCATOR,
    'if (this.collects)\n            this.collectGarbage();\n        else',
    '',
  ),
  mutant(
    'the interval of divisions is one off',
    ROUNDING,
    'Math.floor(Math.log2(requestedBytes / MIB))',
    'Math.floor(Math.log2(requestedBytes / MIB)) + 1',
  ),
  mutant('divisions are twice as fine', ROUNDING, 'power / divisions', 'power / divisions / 2'),
  mutant(
    'powers of two are rounded up too',
    ROUNDING,
    'power === requestedBytes ? power :',
    'power === requestedBytes ? power + power / divisions :',
  ),
  mutant('pending frees complete at once', ALLOCATOR, 'this.pending.hold(block);', 'this.complete(block, null, null);'),
  mutant('a flush does not wait for pending frees', ALLOCATOR, 'this.pending.wait();', ';'),
];

/** Changes that change nothing, and why; kept so that nobody adds them as mutants again. */
export const EQUIVALENT: readonly { readonly what: string; readonly why: string }[] = [
  {
    what: 'divisions from 512 × divisions on, instead of above it',
    why: '512 × a power of two is a power of two, which both rules leave as it is',
  },
  {
    what: 'merging with the block behind before the one in front',
    why: 'both are out of their sets before the joined block enters one',
  },
];
