/**
 * Settings of a recording whose file has none, found by what they do. Releases before torch 2.3 write none. An interval
 * of `roundup_power2_divisions` has the divisions that explain every address, every call to the driver and the final
 * blocks; what the recording does not decide stays open.
 */
import { getOrAdd } from '../../model/group-by.js';
import { minOf } from '../../model/lists.js';
import { freedPools, withFreedPools } from '../replay/infer-pools.js';
import type { Recording } from '../replay/recording.js';
import { divisionInterval, roundSize } from '../rounding.js';
import { type AllocatorSettings, NO_DIVISIONS, POSSIBLE_DIVISIONS, ROUNDUP_INTERVALS } from '../settings.js';
import {
  ALLOC,
  FREE_COMPLETED,
  OOM,
  SEGMENT_ALLOC,
  SEGMENT_FREE,
  SEGMENT_MAP,
  SEGMENT_UNMAP,
} from '../trace-action-codes.js';
import { ALLOCATOR_VARIANTS } from '../variants.js';
import type { AllocatorState } from '../walk/allocator-state.js';
import { type DumpedState, finalDifference } from './compare-final-state.js';
import { type FittedReplay, faults, firstFault, fitRounds, MOST_SEARCHED_ENTRIES, replayBest } from './fit-replay.js';

/** Usual values of `max_split_size_mb`. */
const LIKELY_SPLITS = [20, 32, 64, 100, 128, 200, 256, 400, 500, 512, 1024, 2048].map((mb) => mb * 2 ** 20);
/** Entries replayed in one search: a second or two. What was not tried by then counts as possible. */
const MOST_REPLAYED_ENTRIES = 2_000_000;
/** Above the number of any entry. */
const BEHIND_ENTRIES = 2 ** 32;
/** What setting up a replay costs, in entries. */
const ENTRIES_OF_SETUP = 1000;

interface Draft {
  readonly settings: AllocatorSettings;
  /** Of each private pool that flushes show, how many small segments are its own; null: without pools. */
  readonly smalls: readonly number[] | null;
}

type Change = (draft: Draft) => Draft;

const keep: Change = (draft) => draft;

const set =
  (settings: Partial<AllocatorSettings>): Change =>
  (draft) => ({ ...draft, settings: { ...draft.settings, ...settings } });

const setInterval =
  (interval: number, divisions: number): Change =>
  (draft) =>
    set({ roundupPower2Divisions: draft.settings.roundupPower2Divisions.with(interval, divisions) })(draft);

/** Something that the file does not have. */
interface Unknown {
  /** Entry before which no value decides otherwise than another. */
  readonly firstSeq: number;
  /** The default first. */
  readonly values: readonly Change[];
}

/** Divisions that round every request of the recording alike. */
interface IntervalClasses {
  readonly interval: number;
  readonly firstSeq: number;
  /** That of no rounding first. */
  readonly classes: readonly (readonly number[])[];
}

/** `dump`: null where the dumped blocks are not known. */
export function inferSettings(given: Recording, dump: DumpedState | null): FittedReplay {
  const { action } = given.events;
  const isMapped = action.includes(SEGMENT_MAP) || given.start.segments.expandable.some((flag) => flag === 1);
  const settings = { ...given.settings, expandableSegments: isMapped, keepsSizeAtOne: true };
  const plain = replayBest({ ...given, settings });
  if (given.events.count > MOST_SEARCHED_ENTRIES) return plain;
  const search = new SettingsSearch({ ...given, settings }, dump);
  return search.run(plain) ?? plain;
}

class SettingsSearch {
  private readonly recording: Recording;
  private readonly dump: DumpedState | null;
  private readonly intervals: readonly IntervalClasses[];
  private readonly unknowns: Unknown[];
  private readonly pools: ReturnType<typeof freedPools>;
  private entriesLeft = MOST_REPLAYED_ENTRIES;

  constructor(recording: Recording, dump: DumpedState | null) {
    this.recording = recording;
    this.dump = dump;
    this.intervals = intervalClasses(recording);
    this.unknowns = [
      // Most have one value for all intervals, each of which alone explains nothing.
      {
        firstSeq: minOf(this.intervals.map(({ firstSeq }) => firstSeq)),
        values: POSSIBLE_DIVISIONS.map((divisions) =>
          set({ roundupPower2Divisions: NO_DIVISIONS.map(() => divisions) }),
        ),
      },
      ...this.intervals.map(({ interval, firstSeq, classes }) => ({
        firstSeq,
        values: [keep, ...classes.map(([divisions]) => setInterval(interval, divisions!))],
      })),
      ...otherUnknowns(recording),
    ];
    this.pools = recording.namesPools === false ? freedPools(recording) : [];
    if (this.pools.length > 0) {
      const none = this.pools.map(() => 0);
      this.unknowns.push({ firstSeq: -1, values: [keep, (draft) => ({ ...draft, smalls: none })] });
    }
    for (const [i, { small }] of this.pools.entries())
      this.unknowns.push({
        firstSeq: -1,
        values: Array.from(
          { length: small.length + 1 },
          (_, count): Change =>
            (draft) => ({ ...draft, smalls: draft.smalls?.with(i, count) ?? null }),
        ),
      });
  }

  /** `plain`: with the default settings. Undefined if no settings explain the recording. */
  run(plain: FittedReplay): FittedReplay | undefined {
    const defaults = this.unknowns.map(() => 0);
    const solution = this.isExplained(plain) ? { fitted: plain, values: defaults } : this.solve(defaults, new Set());
    if (solution === undefined) return undefined;
    const { fitted, values } = solution;
    const { settings } = fitted.recording;
    const table = settings.roundupPower2Divisions;
    const possible = Array.from({ length: ROUNDUP_INTERVALS }, (): readonly number[] => POSSIBLE_DIVISIONS);
    const otherTables: (readonly number[])[] = [];
    for (const [i, { interval, classes }] of this.intervals.entries()) {
      const isOwn = (divisions: readonly number[]): boolean => divisions.includes(table[interval]!);
      // Behind the value for all intervals and `keep`.
      const fits = classes.filter((alike, value) => isOwn(alike) || this.explains(values.with(i + 1, value + 1)));
      possible[interval] = fits.flat();
      for (const alike of fits) if (!isOwn(alike)) otherTables.push(table.with(interval, alike[0]!));
    }
    const inferred = {
      ...settings,
      // That there is a threshold is seen, its value is not.
      garbageCollectionThreshold: 0,
      openDivisions: { possible, otherTables },
    };
    return { ...fitted, recording: { ...fitted.recording, settings: inferred } };
  }

  /** `fixed`: unknowns whose value is decided. */
  private solve(values: readonly number[], fixed: ReadonlySet<number>, known?: FittedReplay): Solution | undefined {
    const fitted = known ?? this.replay(values);
    if (fitted === undefined) return undefined;
    if (this.isExplained(fitted)) return { fitted, values };
    const fault = this.explainedTo(fitted);
    let best:
      | { unknown: number; tries: { values: readonly number[]; fitted: FittedReplay; fault: number }[] }
      | undefined;
    for (const [unknown, { firstSeq, values: choices }] of this.unknowns.entries()) {
      if (fixed.has(unknown) || firstSeq > fault) continue;
      const tries = choices.flatMap((_, choice) => {
        const tried = values.with(unknown, choice);
        const replayed = choice === values[unknown] ? fitted : this.replay(tried);
        return replayed === undefined ? [] : [{ values: tried, fitted: replayed, fault: this.explainedTo(replayed) }];
      });
      tries.sort((a, b) => b.fault - a.fault);
      if (best === undefined || (tries[0]?.fault ?? -1) > best.tries[0]!.fault) best = { unknown, tries };
    }
    // What explains no more than before does not begin the explanation.
    if (best === undefined || best.tries[0]!.fault <= fault) return undefined;
    const isFixed = new Set([...fixed, best.unknown]);
    for (const tried of best.tries) {
      const solution = this.solve(tried.values, isFixed, tried.fitted);
      if (solution !== undefined) return solution;
    }
    return undefined;
  }

  /** Entry of the first difference; behind all entries, the address of the first in the final blocks. */
  private explainedTo({ outcome }: FittedReplay): number {
    const fault = firstFault(outcome);
    if (Number.isFinite(fault) || faults(outcome) > 0 || this.dump === null) return fault;
    const difference = finalDifference(outcome.allocator.snapshot(), this.dump);
    if (difference === null) return Number.POSITIVE_INFINITY;
    return BEHIND_ENTRIES + (difference.dumped ?? difference.replayed)!.address;
  }

  private explains(values: readonly number[]): boolean {
    const fitted = this.replay(values);
    return fitted === undefined || this.isExplained(fitted);
  }

  private isExplained({ outcome }: FittedReplay): boolean {
    if (faults(outcome) > 0) return false;
    return this.dump === null || finalDifference(outcome.allocator.snapshot(), this.dump) === null;
  }

  /** Up to the first difference; undefined where too much was replayed. */
  private replay(values: readonly number[]): FittedReplay | undefined {
    if (this.entriesLeft <= 0) return undefined;
    const variant = ALLOCATOR_VARIANTS[this.recording.namesPools === true ? '2.13' : '2.7'];
    let draft: Draft = { settings: this.recording.settings, smalls: null };
    for (const [i, value] of values.entries()) if (value > 0) draft = this.unknowns[i]!.values[value]!(draft);
    const { settings, smalls } = draft;
    const set = { ...this.recording, settings, start: roundedStart(this.recording, settings) };
    const fitted = fitRounds(smalls === null ? set : withFreedPools(set, this.pools, smalls), variant, 0);
    const { seq, count } = this.recording.events;
    const { abandonedAt } = fitted.outcome;
    this.entriesLeft -= ENTRIES_OF_SETUP + (abandonedAt === null ? count : abandonedAt - seq[0]!);
    return fitted;
  }
}

interface Solution {
  readonly fitted: FittedReplay;
  /** Of each unknown. */
  readonly values: readonly number[];
}

/** The intervals in which divisions decide anything that was requested. */
function intervalClasses({ settings, start, events }: Recording): IntervalClasses[] {
  const firstSeqs = Array.from({ length: ROUNDUP_INTERVALS }, () => new Map<number, number>());
  const note = (bytes: number, seq: number): void => {
    if (bytes <= 0) return;
    const sizes = firstSeqs[divisionInterval(bytes)]!;
    if (!sizes.has(bytes)) sizes.set(bytes, seq);
  };
  for (let row = 0; row < start.blocks.count; row += 1) note(start.blocks.requestedBytes[row]!, -1);
  for (let i = 0; i < events.count; i += 1)
    if (events.action[i] === ALLOC || events.action[i] === OOM) note(events.sizeBytes[i]!, events.seq[i]!);
  return firstSeqs.flatMap((sizes, interval) => {
    const classes = new Map<string, number[]>();
    let firstSeq = Number.POSITIVE_INFINITY;
    const tables = POSSIBLE_DIVISIONS.map((divisions) => ({
      ...settings,
      roundupPower2Divisions: settings.roundupPower2Divisions.with(interval, divisions),
    }));
    const rounded = tables.map((): number[] => []);
    for (const [bytes, seq] of sizes) {
      const all = tables.map((table) => roundSize(bytes, table));
      if (all.every((size) => size === all[0])) continue;
      firstSeq = Math.min(firstSeq, seq);
      for (const [i, size] of all.entries()) rounded[i]!.push(size);
    }
    for (const [i, divisions] of POSSIBLE_DIVISIONS.entries())
      getOrAdd(classes, rounded[i]!.join(), (): number[] => []).push(divisions);
    return classes.size < 2 ? [] : [{ interval, firstSeq, classes: [...classes.values()] }];
  });
}

/** Whether garbage was collected, and what was not split: at first no, and everything. */
function otherUnknowns({ events, start }: Recording): Unknown[] {
  const { count, action, seq, sizeBytes } = events;
  let release = Number.POSITIVE_INFINITY;
  let largest = 0;
  for (const bytes of start.segments.totalBytes) largest = Math.max(largest, bytes);
  let large = largest >= LIKELY_SPLITS[0]! ? -1 : Number.POSITIVE_INFINITY;
  for (let i = count - 1; i >= 0; i -= 1) {
    if (action[i] === SEGMENT_FREE || action[i] === SEGMENT_UNMAP) release = seq[i]!;
    else if (action[i] === SEGMENT_ALLOC || action[i] === SEGMENT_MAP) {
      largest = Math.max(largest, sizeBytes[i]!);
      if (sizeBytes[i]! >= LIKELY_SPLITS[0]! && large >= 0) large = seq[i]!;
    }
  }
  return [
    // Which segments garbage collection frees is taken from the record, so any threshold will do.
    { firstSeq: release, values: [keep, set({ garbageCollectionThreshold: 0.8 })] },
    { firstSeq: large, values: [keep, ...LIKELY_SPLITS.map((maxSplitBytes) => set({ maxSplitBytes }))] },
  ];
}

/**
 * The state before the recording. Of blocks that are free by the dump the file has what was requested, and the walk
 * back rounded that without divisions.
 */
function roundedStart(
  { start, settings: walked, events, allocation }: Recording,
  settings: AllocatorSettings,
): AllocatorState {
  const { blocks, segments } = start;
  if (blocks.count === 0 || settings.roundupPower2Divisions === walked.roundupPower2Divisions) return start;
  const sizeBytes = Float64Array.from(blocks.sizeBytes);
  for (let i = 0; i < events.count; i += 1) {
    const row = allocation[i]!;
    if (events.action[i] !== FREE_COMPLETED || row < 0 || row >= blocks.count || blocks.requestedBytes[row]! < 1)
      continue;
    const requested = blocks.requestedBytes[row]!;
    const segment = blocks.segment[row]!;
    const isLast = row + 1 === segments.firstBlock[segment + 1];
    const end = isLast ? segments.address[segment]! + segments.totalBytes[segment]! : blocks.address[row + 1]!;
    const grown = blocks.sizeBytes[row]! + roundSize(requested, settings) - roundSize(requested, walked);
    sizeBytes[row] = Math.min(grown, end - blocks.address[row]!);
  }
  return { ...start, blocks: { ...blocks, sizeBytes } };
}
