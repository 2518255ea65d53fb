/**
 * What belongs to the answer of a cause's test: its evidence, the steps to take, and what a reader needs besides the
 * numbers it was decided by. The answers are rows of the library's `cause_…` views.
 */
import { maxOf, minOf, sumOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import { type Figures, type Item, known, named, statement } from '../../model/statement.js';
import type { CauseTest, EvidenceKind, Step, StepKind } from '../../model/verdict.js';
import type { Cause, CauseDetail, Confidence } from '../../model/vocabulary.js';
import type { EvidenceLog, Growth, OomFacts, TraceFacts } from './facts.js';
import { itemsOf, jobProcessSteps } from './job-processes.js';
import { ownersOf, processesOf } from './run-evidence.js';

export interface Answer extends Omit<CauseTest, 'details'> {
  readonly detail: CauseDetail | null;
  /** Of an outcome that holds. */
  readonly confidence: Confidence | null;
}

/** A step to take, with the figures of its sentence where it has any. */
export type StepDraft = StepKind | ({ readonly kind: StepKind } & Partial<Figures>);

export function stepsOf(drafts: readonly StepDraft[]): Step[] {
  return drafts.map((draft) => {
    const { kind, ...figures } = typeof draft === 'string' ? { kind: draft } : draft;
    return { ...statement(kind, figures), status: 'open', because: null };
  });
}

interface Description {
  readonly details?: Partial<Figures>;
  readonly steps?: readonly StepDraft[];
}

/** Adds evidence; its numbers are those of the answer and `more`. */
type Add = (kind: EvidenceKind, source: Place, more?: Partial<Figures>) => void;
type Describe = (facts: OomFacts, add: Add, answer: Answer) => Description;

/** Adds the evidence of an answer. */
export function describeAnswer(answer: Answer, facts: OomFacts, evidence: EvidenceLog): Required<Description> {
  const { cause, reason, numbers } = answer;
  const add: Add = (kind, source, more = {}) =>
    evidence.add(kind, source, { ...more, numbers: { ...numbers, ...more.numbers } });
  const { details = {}, steps = [] } = DESCRIPTIONS[cause]?.[reason]?.(facts, add, answer) ?? {};
  // Only a snapshot has what is live.
  const allowed = (draft: StepDraft): StepDraft =>
    draft === 'lower_live' && facts.trace == null ? 'lower_live_or_request' : draft;
  return { details, steps: steps.map(allowed) };
}

// ---- capacity

/** Live memory and the request exceed what the process could have; the detail names what takes part in it. */
const exceeded =
  (describe: Describe): Describe =>
  (facts, add, answer) => {
    const limit =
      facts.allowed !== null && answer.numbers['limit_bytes'] === facts.allowed.bytes ? 'fraction' : 'process';
    add('limit_exceeded', facts.allocated!.source, { names: { limit } });
    return describe(facts, add, answer);
  };

const step =
  (...steps: readonly StepDraft[]): Describe =>
  () => ({ steps });

/** One piece of evidence, read where that figure was, and the steps. */
const seen =
  (kind: EvidenceKind, figure: FigureName, ...steps: readonly StepDraft[]): Describe =>
  (facts, add) => {
    add(kind, facts[figure]!.source);
    return { steps };
  };

type FigureName =
  | 'allocated'
  | 'reserved'
  | 'pending'
  | 'freedByWait'
  | 'deviceFree'
  | 'privatePoolFree'
  | 'roundingWaste';

function activitySource({ trace, run, allocated }: OomFacts): Place {
  return trace?.activity == null ? (run?.activitySource ?? allocated!.source) : trace.source;
}

const checkpoint: Describe = (facts, add, { reason, numbers }) => {
  const { trace, run } = facts;
  const activity = (trace?.activity ?? run?.activity)!;
  const source = activitySource(facts);
  // The size of the copies among the live memory is unknown without a trace; that it failed outside a step is known.
  const names = { activity, ...(trace == null ? {} : { sizes: 'traced' }) };
  add(reason === 'checkpoint' ? 'checkpoint_copies' : 'in_checkpoint', source, { names });
  if (numbers['second_copies_bytes'] !== undefined) add('second_copies', source);
  return {
    details: { names },
    steps: activity === 'checkpoint_save' ? ['sharded_checkpoint', 'training_fits'] : ['load_to_host'],
  };
};

const CAPACITY: Readonly<Record<string, Describe>> = {
  beyond_device: ({ request }, add) => {
    const numbers = { asked_bytes: request!.bytes };
    add('request_beyond_device', request!.source, { numbers });
    return { details: { numbers }, steps: ['check_shape'] };
  },
  device_exceeded: seen('device_exceeded', 'allocated', 'lower_live_or_request'),
  full_but_for_pools: seen('little_left_without_pools', 'allocated', 'lower_live'),
  whole_step({ trace }, add) {
    const step = trace!.wholeStep!;
    add('whole_step', trace!.source, { numbers: { alike_share: step.alikeShare }, names: { outcome: step.outcome } });
    return { steps: ['lower_live'] };
  },
  hidden_limit: seen('limit_refused', 'deviceFree', 'raise_fraction'),
  fraction: seen('limit_refused', 'deviceFree', 'raise_fraction'),
  nearly_full: seen('little_left', 'allocated', 'lower_live'),
  hardly_any_left: seen('little_left', 'allocated', 'lower_live_or_request'),
  beyond_limit: exceeded(step('lower_live')),
  full: exceeded(step('lower_live')),
  rounding: exceeded(seen('rounding_waste', 'roundingWaste', 'less_rounding')),
  optimizer_states: exceeded((facts, add) => {
    add('optimizer_states_made', activitySource(facts));
    return { steps: ['shard_optimizer'] };
  }),
  checkpoint: exceeded(checkpoint),
  full_in_checkpoint: exceeded(checkpoint),
  logits: exceeded((facts, add) => {
    const { trace, run } = facts;
    const passed = (trace?.steps?.length ?? 0) + (trace?.hasEarlierStates === true ? 1 : 0);
    add('logits_spike', activitySource(facts), {
      numbers: { completed_steps: Math.max(passed, run?.completed ?? 0) },
      names: { spike: trace?.activity === 'logits_loss' ? 'held_and_asked' : 'request' },
    });
    return { steps: ['smaller_logits'] };
  }),
  one_tensor: exceeded(({ allocated, requestSite }, add) => {
    add('one_tensor', allocated!.source, { names: named({ site: requestSite }) });
    return { steps: ['split_tensor'] };
  }),
  stage: exceeded(({ run }, add) => {
    const fullest = run!.ownStage!;
    const next = run!.otherStages.reduce((best, stage) => (stage.bytes > best.bytes ? stage : best));
    const numbers = { own_rank: fullest.rank, next_stage: next.stage, next_rank: next.rank };
    add('fullest_stage', run!.source!, { numbers });
    return { steps: ['move_layers', 'fewer_in_flight'] };
  }),
};

// ---- external pressure

const outside =
  (describe: Describe): Describe =>
  (facts, add, answer) => {
    add('outside_pytorch', facts.total!.source);
    return describe(facts, add, answer);
  };

const profiled =
  (...steps: readonly StepDraft[]): Describe =>
  ({ driver }, add) => {
    const items = ownersOf(driver!.outside.slice(0, MOST_NAMED));
    add('driver_owners', driver!.source, { items });
    return { details: { items }, steps };
  };

const MOST_NAMED = 3;
/** Of the device: with so much live, what else is on it is hardly all that is to be gained. */
const LIVE_SHARE = 0.9;

const EXTERNAL_PRESSURE: Readonly<Record<string, Describe>> = {
  owner_unknown: outside(({ allocated, total }) => ({
    steps: [
      'find_holder',
      ...(allocated!.bytes > LIVE_SHARE * total!.bytes ? (['lower_live_or_request'] as const) : []),
    ],
  })),
  sibling_processes: outside(step('set_device')),
  other_processes: outside((facts, add, { numbers, doubts }) => {
    const { monitor, jobProcesses = [], engineSign } = facts;
    const known = jobProcessSteps(jobProcesses);
    const pids = new Set(jobProcesses.map(({ pid }) => pid));
    const unnamed = (monitor?.others ?? []).filter(({ pid }) => pid === null || !pids.has(pid));
    const items = processesOf(unnamed.slice(0, MOST_NAMED));
    const general = doubts.includes('weights_follow') ? (['lower_live_or_request'] as const) : [];
    // Unknown processes are looked for only where those of the job are not most of it.
    if (2 * sumOf(jobProcesses.map(({ bytes }) => bytes)) >= (numbers['foreign_bytes'] ?? 0) && known.length > 0)
      return { details: { items: itemsOf(jobProcesses).slice(0, MOST_NAMED) }, steps: [...known, ...general] };
    if (doubts.includes('own_engine')) {
      if (engineSign != null) add('engine_sign', engineSign.source, { names: { sign: engineSign.sign } });
      return { details: { items, names: { owner: 'engine' } }, steps: [{ kind: 'try_engine', items }, ...general] };
    }
    return {
      details: { items },
      steps: [items.length === 0 ? 'find_process' : { kind: 'end_processes', items }, ...general],
    };
  }),
  profiled: outside(profiled('see_nsys')),
  profiled_nccl: outside(profiled('fewer_communicators')),
  nccl_signs: outside(({ run }, add) => {
    for (const { kind, source, ...sign } of run!.nccl.slice(0, MOST_NAMED)) add(kind, source, sign);
    return { steps: ['undo_nccl_settings'] };
  }),
  outside_pytorch: outside(step('count_communicators')),
};

// ---- fragmentation, private pools, synchronisation

/** Evidence of the doubts: a memory fraction, and the copies of a checkpoint. */
function doubtDetails({ allowed, deviceFree, trace }: OomFacts): Partial<Figures> {
  const numbers = { allowed_bytes: allowed?.bytes, device_free_bytes: deviceFree?.bytes };
  return { numbers: known({ ...numbers, checkpoint_bytes: trace?.activityBytes }) };
}

function defragmenting(facts: OomFacts, { detail }: Answer): StepDraft[] {
  const { allocator } = facts;
  const first: readonly StepDraft[] =
    allocator?.expandableSegments === true
      ? ['free_pinning', 'expandable_on_already']
      : ['expandable_segments', ...(allocator === null ? (['check_expandable'] as const) : [])];
  return [
    ...first,
    ...(detail === 'other_stream' ? (['same_stream'] as const) : []),
    ...(isRefusedByLimit(facts) ? (['raise_fraction'] as const) : []),
  ];
}

/** The device had more: the limit that refused, a memory fraction most likely, is not in the evidence. */
function isRefusedByLimit({ allowed, deviceFree, segmentBytes }: OomFacts): boolean {
  return allowed === null && deviceFree !== null && segmentBytes !== null && deviceFree.bytes >= segmentBytes;
}

/** Where the configuration allows expandable segments, they are another way to the same end. */
const OR_EXPANDABLE = { or: 'expandable_segments' };

const inPieces: Describe = (facts, add, answer) => {
  const { pinnedSegments, pinningBytes } = facts.free!;
  add('fits_in_pieces', facts.reserved!.source);
  if (isRefusedByLimit(facts))
    add('limit_refused', facts.deviceFree!.source, {
      numbers: { device_free_bytes: facts.deviceFree!.bytes, segment_bytes: facts.segmentBytes! },
    });
  if (pinnedSegments > 0) {
    const numbers = { segments: pinnedSegments, pinning_bytes: pinningBytes };
    add('pinned_segments', facts.reserved!.source, { numbers });
  }
  return { details: doubtDetails(facts), steps: defragmenting(facts, answer) };
};

const FRAGMENTATION: Readonly<Record<string, Describe>> = {
  oversize_slack: seen('oversize_slack', 'allocated', { kind: 'lower_oversize_rounding', names: OR_EXPANDABLE }),
  kept_for_larger: seen('kept_for_larger', 'reserved', { kind: 'raise_max_split', names: OR_EXPANDABLE }),
  free_in_pieces: (facts, add, answer) => {
    add('reserved_but_free', facts.reserved!.source);
    return { details: doubtDetails(facts), steps: defragmenting(facts, answer) };
  },
  page_pinning: inPieces,
  split_remainder: inPieces,
  other_stream: inPieces,
  small_large_pool: inPieces,
};

const GRAPH_POOLS: Readonly<Record<string, Describe>> = {
  free_in_pools: seen('free_in_pools', 'privatePoolFree', 'smaller_graphs'),
};

const SYNCHRONISATION: Readonly<Record<string, Describe>> = {
  pending: seen('pending_frees', 'pending', 'record_stream'),
  freed_by_wait: seen('freed_by_wait', 'freedByWait', 'record_stream'),
};

// ---- leak

/** Ends shown of the steps before the failure. */
const MOST_ENDS = 6;

/** Growth by the trace. Two sources that agree are more certain; where they do not, the reader sees both. */
const inTrace =
  (describe: Describe): Describe =>
  (facts, add, answer) => {
    const description = describe(facts, add, answer);
    if (answer.numbers['grown_in_lines_bytes'] !== undefined) addGrowth(facts.growth!, add);
    return description;
  };

/** Growth by the memory lines of the log. */
const inLines: Describe = ({ growth }) => ({ details: { numbers: growthNumbers(growth!) } });

function growthNumbers({ firstIteration, lastIteration, firstBytes, lastBytes, bytesPerIteration, r2 }: Growth) {
  return {
    first_iteration: firstIteration,
    last_iteration: lastIteration,
    grown_bytes: lastBytes - firstBytes,
    bytes_per_iteration: bytesPerIteration,
    r2,
  };
}

function addGrowth(growth: Growth, add: Add): void {
  add('growth_in_lines', growth.source, { numbers: growthNumbers(growth) });
}

function addEnds({ steps, source }: TraceFacts, add: Add): void {
  const items = (steps ?? [])
    .slice(-MOST_ENDS)
    .map((ended): Item => ({ name: null, numbers: { bytes: ended.endBytes } }));
  if (items.length > 1) add('step_ends', source, { items });
}

const LEAK: Readonly<Record<string, Describe>> = {
  foretold: ({ run }, add) => {
    const { firstIteration, secondIteration, lastIteration, peakBytes, source } = run!.early!;
    const iterations = { first_iteration: firstIteration, second_iteration: secondIteration };
    const numbers = { ...iterations, last_iteration: lastIteration, peak_bytes: peakBytes };
    add('early_growth', source, { numbers });
    return { steps: ['find_kept_tensors', 'confirm_growth'] };
  },
  lines_not_steady: inLines,
  lines_level_off: inLines,
  lines_grow_too_little: inLines,
  lines_grow: (facts, add, answer) => {
    addGrowth(facts.growth!, add);
    return { ...inLines(facts, add, answer), steps: ['find_kept_tensors', 'compare_snapshots'] };
  },
  kept_of_steps: inTrace(({ trace }, add) => {
    for (const { site, bytes, blocks, steps, bytesPerStep } of trace!.keeping.slice(0, MOST_NAMED)) {
      const numbers = { kept_bytes: bytes, blocks, steps, kept_bytes_per_step: bytesPerStep };
      add('kept_by_site', trace!.source, { numbers, names: named({ site, steps_by: trace!.stepsBy }) });
    }
    addEnds(trace!, add);
    const names = { site: trace!.keeping[0]!.site };
    return { details: { names }, steps: [{ kind: 'look_at_site', names }, 'compare_snapshots'] };
  }),
  step_ends_rise: inTrace(({ trace }, add) => {
    addEnds(trace!, add);
    return { steps: ['find_kept_tensors', 'compare_snapshots'] };
  }),
  no_repeated_site: inTrace(step()),
  kept_too_little: inTrace(step()),
  no_earlier_step: inTrace(({ trace }) => ({ details: { numbers: { passed_steps: trace!.steps!.length } } })),
  none_kept: inTrace(({ trace }) => {
    const settled = (trace!.steps ?? []).filter((passed) => passed.settled);
    const range = (bytes: readonly number[]): number => maxOf(bytes) - minOf(bytes);
    const ends_range_bytes = range(settled.map(({ endBytes }) => endBytes));
    return {
      details: { numbers: { ends_range_bytes, peaks_range_bytes: range(settled.map(({ peakBytes }) => peakBytes)) } },
    };
  }),
};

/** Reasons of the views that are not here have neither evidence nor steps nor further figures. */
const DESCRIPTIONS: Readonly<Partial<Record<Cause, Readonly<Record<string, Describe>>>>> = {
  capacity: CAPACITY,
  external_pressure: EXTERNAL_PRESSURE,
  fragmentation: FRAGMENTATION,
  graph_pools: GRAPH_POOLS,
  leak: LEAK,
  synchronisation: SYNCHRONISATION,
};
