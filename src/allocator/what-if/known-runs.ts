/**
 * Simulations of one recording, each made once: several questions differ only in settings that decide nothing on it, or
 * in a budget that nothing reaches.
 */
import { getOrAdd } from '../../model/group-by.js';
import type { Recording } from '../replay/recording.js';
import { allocationSize, roundSize } from '../rounding.js';
import type { AllocatorSettings } from '../settings.js';
import type { AllocatorVariant } from '../variants.js';
import type { LostFacts } from './alternatives.js';
import type { Operations } from './operations.js';
import { type Simulation, type SimulationResult, simulate } from './simulate.js';

interface Known {
  /** By everything but the budget. */
  readonly runs: Map<string, KnownRun[]>;
  /** Largest request, and largest segment of the start. */
  readonly largestRequest: number;
  readonly largestSegment: number;
}

interface KnownRun {
  readonly budgetBytes: number;
  readonly result: SimulationResult;
}

const knownRuns = new WeakMap<WhatIfBase, Known>();

/**
 * {@link simulate}, or the result of an earlier simulation that cannot differ. Runs with edits or an observer are
 * always made.
 */
export function runOnce(base: WhatIfBase, simulation: Omit<Simulation, 'variant'>): SimulationResult {
  const fullSimulation = { ...simulation, variant: base.variant };
  if (simulation.edits !== undefined || simulation.after !== undefined)
    return simulate(base.recording, base.operations, fullSimulation);
  let known = knownRuns.get(base);
  if (known === undefined) {
    known = { runs: new Map(), ...largest(base) };
    knownRuns.set(base, known);
  }
  const { budgetBytes, allowedBytes, takenByOthersBytes, start, direction } = simulation;
  const rules = decisiveSettings(simulation, known);
  const key = JSON.stringify([rules, takenByOthersBytes ?? 0, allowedBytes ?? null, start, direction]);
  const runs = getOrAdd(known.runs, key, (): KnownRun[] => []);
  const isSame = (run: KnownRun): boolean =>
    run.budgetBytes === budgetBytes ||
    // The address space of an expandable segment depends on the device.
    (!simulation.settings.expandableSegments && !run.result.isLimited && budgetBytes >= run.result.peakReservedBytes);
  let run = runs.find(isSame);
  if (run === undefined) {
    run = { budgetBytes, result: simulate(base.recording, base.operations, fullSimulation) };
    runs.push(run);
  }
  return run.result;
}

function largest({ recording: { start }, operations }: WhatIfBase): Omit<Known, 'runs'> {
  let largestRequest = 1;
  let largestSegment = 0;
  for (const bytes of operations.bytes) if (bytes > largestRequest) largestRequest = bytes;
  for (const bytes of start.blocks.sizeBytes) if (bytes > largestRequest) largestRequest = bytes;
  for (const bytes of start.segments.totalBytes) if (bytes > largestSegment) largestSegment = bytes;
  return { largestRequest, largestSegment };
}

/** The settings without those that decide nothing here; Infinity as JSON has it, which is as good as any other name. */
function decisiveSettings(
  { settings: all, allowedBytes }: Omit<Simulation, 'variant'>,
  known: Known,
): AllocatorSettings {
  const { openDivisions: _, ...settings } = all;
  const collects = allowedBytes !== undefined;
  const splits = settings.expandableSegments || reachesMaxSplit(settings, known);
  return {
    ...settings,
    garbageCollectionThreshold: collects ? settings.garbageCollectionThreshold : 0,
    maxSplitBytes: splits ? settings.maxSplitBytes : Number.POSITIVE_INFINITY,
    // Only requests of max_split_size and more are compared with it.
    maxNonSplitRoundingBytes: splits && Number.isFinite(settings.maxSplitBytes) ? settings.maxNonSplitRoundingBytes : 0,
  };
}

/**
 * Whether a block of max_split_size can come about: no free block is larger than its segment, no segment than the
 * largest request.
 */
function reachesMaxSplit(settings: AllocatorSettings, { largestRequest, largestSegment }: Known): boolean {
  if (!Number.isFinite(settings.maxSplitBytes)) return false;
  // Divisions can round a request up to the next power of two, and a smaller one further than a larger one.
  const isDivided = settings.roundupPower2Divisions.some((division) => division > 1);
  const rounded = isDivided ? 2 * largestRequest : roundSize(largestRequest, settings);
  const segment = Math.max(allocationSize(rounded, settings), settings.largeSegmentBytes, largestSegment);
  return segment >= settings.maxSplitBytes;
}

/** Everything that stays the same over the questions asked of one recording. */
export interface WhatIfBase {
  readonly recording: Recording;
  readonly operations: Operations;
  readonly variant: AllocatorVariant;
  /** The same with what else the program can have asked for, and what was lost besides. */
  readonly others?: readonly WhatIfBase[];
  readonly lost?: LostFacts;
}
