/**
 * What belongs to the answer of a cause's test: its evidence, the steps to take, and what a reader needs besides the
 * numbers it was decided by. The answers are rows of the library's `cause_…` views.
 */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf, minOf, sumOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import { type Figures, type Item, known, named, statement } from '../../model/statement.js';
import type { CauseTest, EvidenceKind, Step, StepKind } from '../../model/verdict.js';
import type { Cause, CauseDetail, Confidence } from '../../model/vocabulary.js';
import type { EvidenceLog, OomFacts } from './facts.js';
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
    draft === 'lower_live' && !facts.has_trace ? 'lower_live_or_request' : draft;
  return { details, steps: steps.map(allowed) };
}

// ---- capacity

/** Live memory and the request exceed what the process could have; the detail names what takes part in it. */
const exceeded =
  (describe: Describe): Describe =>
  (facts, add, answer) => {
    const limit = answer.numbers['limit_bytes'] === facts.allowed_bytes ? 'fraction' : 'process';
    add('limit_exceeded', facts.place, { names: { limit } });
    return describe(facts, add, answer);
  };

const step =
  (...steps: readonly StepDraft[]): Describe =>
  () => ({ steps });

/** One piece of evidence, and the steps. */
const seen =
  (kind: EvidenceKind, ...steps: readonly StepDraft[]): Describe =>
  ({ place }, add) => {
    add(kind, place);
    return { steps };
  };

const limitRefused: Describe = ({ freePlace }, add) => {
  add('limit_refused', freePlace);
  return { steps: ['raise_fraction'] };
};

const checkpoint: Describe = (facts, add, { reason, numbers }) => {
  const { activityPlace: source } = facts;
  const activity = (facts.trace_activity ?? facts.run_activity)!;
  // The size of the copies among the live memory is unknown without a trace; that it failed outside a step is known.
  const names = { activity, ...(facts.has_trace ? { sizes: 'traced' } : {}) };
  add(reason === 'checkpoint' ? 'checkpoint_copies' : 'in_checkpoint', source, { names });
  if (numbers['second_copies_bytes'] !== undefined) add('second_copies', source);
  return {
    details: { names },
    steps: activity === 'checkpoint_save' ? ['sharded_checkpoint', 'training_fits'] : ['load_to_host'],
  };
};

const CAPACITY: Readonly<Record<string, Describe>> = {
  beyond_device: ({ request_bytes: bytes, place }, add) => {
    const numbers = { asked_bytes: bytes! };
    add('request_beyond_device', place, { numbers });
    return { details: { numbers }, steps: ['check_shape'] };
  },
  device_exceeded: seen('device_exceeded', 'lower_live_or_request'),
  full_but_for_pools: seen('little_left_without_pools', 'lower_live'),
  whole_step({ step_outcome: outcome, alike_share, place }, add) {
    add('whole_step', place, { numbers: { alike_share: alike_share ?? 0 }, names: { outcome: outcome! } });
    return { steps: ['lower_live'] };
  },
  hidden_limit: limitRefused,
  fraction: limitRefused,
  nearly_full: seen('little_left', 'lower_live'),
  hardly_any_left: seen('little_left', 'lower_live_or_request'),
  beyond_limit: exceeded(step('lower_live')),
  full: exceeded(step('lower_live')),
  rounding: exceeded(seen('rounding_waste', 'less_rounding')),
  optimizer_states: exceeded(({ activityPlace }, add) => {
    add('optimizer_states_made', activityPlace);
    return { steps: ['shard_optimizer'] };
  }),
  checkpoint: exceeded(checkpoint),
  full_in_checkpoint: exceeded(checkpoint),
  logits: exceeded((facts, add) => {
    const passed = facts.steps.length + (facts.has_earlier_states === true ? 1 : 0);
    add('logits_spike', facts.activityPlace, {
      numbers: { completed_steps: Math.max(passed, facts.completed_steps ?? 0) },
      names: { spike: facts.trace_activity === 'logits_loss' ? 'held_and_asked' : 'request' },
    });
    return { steps: ['smaller_logits'] };
  }),
  one_tensor: exceeded(({ place, site }, add) => {
    add('one_tensor', place, { names: named({ site }) });
    return { steps: ['split_tensor'] };
  }),
  stage: exceeded((facts, add) => {
    const { own_stage_rank, next_stage, next_stage_rank, lines_path: path, lines_line: line } = facts;
    const numbers = { own_rank: own_stage_rank!, next_stage: next_stage!, next_rank: next_stage_rank! };
    add('fullest_stage', { path: path!, line: line! }, { numbers });
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
const LIVE_SHARE = threshold('answers.live_share');

const EXTERNAL_PRESSURE: Readonly<Record<string, Describe>> = {
  owner_unknown: outside(({ allocated_bytes: live, total }) => ({
    steps: ['find_holder', ...(live! > LIVE_SHARE * total!.bytes ? (['lower_live_or_request'] as const) : [])],
  })),
  sibling_processes: outside(step('set_device')),
  other_processes: outside((facts, add, { numbers, doubts }) => {
    const { monitor, jobProcesses, engineSign } = facts;
    const known = jobProcessSteps(jobProcesses);
    const pids = new Set(jobProcesses.map(({ pid }) => pid));
    const unnamed = (monitor?.others ?? []).filter(({ pid }) => pid === null || !pids.has(pid));
    const items = processesOf(unnamed.slice(0, MOST_NAMED));
    const general = doubts.includes('weights_follow') ? (['lower_live_or_request'] as const) : [];
    // Unknown processes are looked for only where those of the job are not most of it.
    if (2 * sumOf(jobProcesses.map(({ bytes }) => bytes)) >= (numbers['foreign_bytes'] ?? 0) && known.length > 0)
      return { details: { items: itemsOf(jobProcesses).slice(0, MOST_NAMED) }, steps: [...known, ...general] };
    if (doubts.includes('own_engine')) {
      if (engineSign !== null) {
        const { display_path: path, line, sign } = engineSign;
        add('engine_sign', { path, line }, { names: { sign } });
      }
      return { details: { items, names: { owner: 'engine' } }, steps: [{ kind: 'try_engine', items }, ...general] };
    }
    return {
      details: { items },
      steps: [items.length === 0 ? 'find_process' : { kind: 'end_processes', items }, ...general],
    };
  }),
  profiled: outside(profiled('see_nsys')),
  profiled_nccl: outside(profiled('fewer_communicators')),
  nccl_signs: outside(({ nccl }, add) => {
    for (const { kind, source, ...sign } of nccl.slice(0, MOST_NAMED)) add(kind, source, sign);
    return { steps: ['undo_nccl_settings'] };
  }),
  outside_pytorch: outside(step('count_communicators')),
};

// ---- fragmentation, private pools, synchronisation

/** Evidence of the doubts: a memory fraction, and the copies of a checkpoint. */
function doubtDetails({ allowed_bytes, device_free_bytes, activity_bytes }: OomFacts): Partial<Figures> {
  return { numbers: known({ allowed_bytes, device_free_bytes, checkpoint_bytes: activity_bytes }) };
}

function defragmenting(facts: OomFacts, { detail }: Answer): StepDraft[] {
  const { is_expandable: isOn } = facts;
  const first: readonly StepDraft[] =
    isOn === true
      ? ['free_pinning', 'expandable_on_already']
      : ['expandable_segments', ...(isOn === null ? (['check_expandable'] as const) : [])];
  return [
    ...first,
    ...(detail === 'other_stream' ? (['same_stream'] as const) : []),
    ...(isRefusedByLimit(facts) ? (['raise_fraction'] as const) : []),
  ];
}

/** The device had more: the limit that refused, a memory fraction most likely, is not in the evidence. */
function isRefusedByLimit({ allowed_bytes, device_free_bytes: free, segment_request_bytes: asked }: OomFacts): boolean {
  return allowed_bytes === null && free !== null && asked !== null && free >= asked;
}

/** Where the configuration allows expandable segments, they are another way to the same end. */
const OR_EXPANDABLE = { or: 'expandable_segments' };

const inPieces: Describe = (facts, add, answer) => {
  const { pinned_segments: segments, pinning_bytes } = facts.searched ?? { pinned_segments: 0, pinning_bytes: 0 };
  add('fits_in_pieces', facts.place);
  if (isRefusedByLimit(facts)) {
    const { device_free_bytes, segment_request_bytes: segment_bytes } = facts;
    add('limit_refused', facts.freePlace, { numbers: known({ device_free_bytes, segment_bytes }) });
  }
  if (segments > 0) add('pinned_segments', facts.place, { numbers: { segments, pinning_bytes } });
  return { details: doubtDetails(facts), steps: defragmenting(facts, answer) };
};

const FRAGMENTATION: Readonly<Record<string, Describe>> = {
  oversize_slack: seen('oversize_slack', { kind: 'lower_oversize_rounding', names: OR_EXPANDABLE }),
  kept_for_larger: seen('kept_for_larger', { kind: 'raise_max_split', names: OR_EXPANDABLE }),
  free_in_pieces: (facts, add, answer) => {
    add('reserved_but_free', facts.place);
    return { details: doubtDetails(facts), steps: defragmenting(facts, answer) };
  },
  page_pinning: inPieces,
  split_remainder: inPieces,
  other_stream: inPieces,
  small_large_pool: inPieces,
};

const GRAPH_POOLS: Readonly<Record<string, Describe>> = {
  free_in_pools: seen('free_in_pools', 'smaller_graphs'),
};

const SYNCHRONISATION: Readonly<Record<string, Describe>> = {
  pending: seen('pending_frees', 'record_stream'),
  freed_by_wait: seen('freed_by_wait', 'record_stream'),
};

// ---- leak

/** Ends shown of the steps before the failure. */
const MOST_ENDS = 6;

/** Growth by the trace. Two sources that agree are more certain; where they do not, the reader sees both. */
const inTrace =
  (describe: Describe): Describe =>
  (facts, add, answer) => {
    const description = describe(facts, add, answer);
    if (answer.numbers['grown_in_lines_bytes'] !== undefined) addGrowth(facts, add);
    return description;
  };

/** Growth by the memory lines of the log. */
const inLines: Describe = (facts) => ({ details: { numbers: growthNumbers(facts) } });

function growthNumbers(facts: OomFacts) {
  return {
    first_iteration: facts.growth_first_iteration!,
    last_iteration: facts.growth_last_iteration!,
    grown_bytes: facts.growth_last_bytes! - facts.growth_first_bytes!,
    bytes_per_iteration: facts.growth_bytes_per_iteration!,
    r2: facts.growth_r2!,
  };
}

function addGrowth(facts: OomFacts, add: Add): void {
  add('growth_in_lines', { path: facts.growth_path! }, { numbers: growthNumbers(facts) });
}

function addEnds({ steps, place }: OomFacts, add: Add): void {
  const items = steps.slice(-MOST_ENDS).map(({ end_bytes: bytes }): Item => ({ name: null, numbers: { bytes } }));
  if (items.length > 1) add('step_ends', place, { items });
}

const LEAK: Readonly<Record<string, Describe>> = {
  foretold: (facts, add) => {
    const numbers = {
      first_iteration: facts.early_first_iteration!,
      second_iteration: facts.early_second_iteration!,
      last_iteration: facts.early_last_iteration!,
      peak_bytes: facts.early_peak_bytes!,
    };
    add('early_growth', { path: facts.early_path!, line: facts.early_line! }, { numbers });
    return { steps: ['find_kept_tensors', 'confirm_growth'] };
  },
  lines_not_steady: inLines,
  lines_level_off: inLines,
  lines_grow_too_little: inLines,
  lines_grow: (facts, add, answer) => {
    addGrowth(facts, add);
    return { ...inLines(facts, add, answer), steps: ['find_kept_tensors', 'compare_snapshots'] };
  },
  kept_of_steps: inTrace((facts, add) => {
    for (const { site, bytes, blocks, steps, bytes_per_step } of facts.kept.slice(0, MOST_NAMED)) {
      const numbers = { kept_bytes: bytes, blocks, steps, kept_bytes_per_step: bytes_per_step };
      add('kept_by_site', facts.place, { numbers, names: named({ site, steps_by: facts.steps_by }) });
    }
    addEnds(facts, add);
    const names = { site: facts.kept[0]!.site };
    return { details: { names }, steps: [{ kind: 'look_at_site', names }, 'compare_snapshots'] };
  }),
  step_ends_rise: inTrace((facts, add) => {
    addEnds(facts, add);
    return { steps: ['find_kept_tensors', 'compare_snapshots'] };
  }),
  no_repeated_site: inTrace(step()),
  kept_too_little: inTrace(step()),
  no_earlier_step: inTrace(({ steps }) => ({ details: { numbers: { passed_steps: steps.length } } })),
  none_kept: inTrace(({ steps }) => {
    const settled = steps.filter((passed) => passed.is_settled);
    const range = (bytes: readonly number[]): number => maxOf(bytes) - minOf(bytes);
    const ends_range_bytes = range(settled.map(({ end_bytes }) => end_bytes));
    return {
      details: { numbers: { ends_range_bytes, peaks_range_bytes: range(settled.map(({ peak_bytes }) => peak_bytes)) } },
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
