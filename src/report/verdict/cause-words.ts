/** Why a test holds or fails, or what it needs, by cause and reason; and the summary of verdicts without a test. */
import { DRIVER_OWNER_WORDS, type DriverOwner } from '../../model/results/nsys.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { CauseTest, SummaryKind, Verdict } from '../../model/verdict.js';
import type { Cause } from '../../model/vocabulary.js';
import {
  ACTIVITY_WORDS,
  endedProcessWords,
  listed,
  processWords,
  requestOf,
  shortOf,
  times,
  type View,
  viewOf,
  type Words,
  wordsOf,
} from './words.js';

function viewOfTest({ numbers, details }: CauseTest): View {
  return viewOf({ ...details, numbers: { ...details.numbers, ...numbers } });
}

export function testText(test: CauseTest): string {
  return wordsOf(TESTS[test.cause] ?? {}, test.reason)(viewOfTest(test));
}

/** Evidence against the outcome of a test. */
export function doubtTexts(test: CauseTest): string[] {
  return test.doubts.map((doubt) => wordsOf(DOUBTS, doubt)(viewOfTest(test)));
}

/** One line: what happened. */
export function summaryText({ summary, tests, cause }: Pick<Verdict, 'summary' | 'tests' | 'cause'>): string {
  if (summary !== null) return SUMMARIES[summary.kind](viewOf(summary));
  return testText(tests.find((test) => test.outcome === 'holds' && test.cause === cause)!);
}

/** Where no run has a failure. */
export const NOTHING_READ = 'nothing to judge: no memory snapshot and no failure message was found';

const FIGURES_NEEDED: Words = () => 'allocated, reserved and free bytes (a snapshot at the OOM, or the whole message)';

function fits(v: View, slack = 0): string {
  const request = v.has('printed_request_bytes') ? 'printed_request_bytes' : 'request_bytes';
  const bytes = v.number('live_bytes') + v.number(request) - slack;
  return `${formatBytes(bytes)} live + requested fit in the ${v.bytes('limit_bytes')} available to this process`;
}

const full: Words = (v) => `the device is full: ${shortOf(v)} short even after freeing the whole cache`;
const activity = (v: View): string => wordsOf(ACTIVITY_WORDS, v.name('activity'));

const CAPACITY: Readonly<Record<string, Words>> = {
  figures_missing: FIGURES_NEEDED,
  within_rounding(v) {
    const isShort = v.has('short_bytes');
    const left = isShort ? `${v.bytes('short_bytes')} short` : `${v.bytes('spare_bytes')} to spare`;
    return `exact figures: ${left} is below the message's rounding`;
  },
  slack_unknown: (v) =>
    `a snapshot: max_split_size_mb is set, and how much of live memory was never requested (blocks handed out whole) may be more than the ${v.bytes('short_bytes')} missing`,
  fits: (v) => fits(v),
  fits_without_slack: (v) =>
    `${fits(v, v.number('oversize_slack_bytes'))}, were it not for the slack of oversize blocks`,
  beyond_device: (v) => `the request of ${v.bytes('asked_bytes')} is larger than the whole device`,
  device_exceeded: (v) => `the device is full: ${shortOf(v)} short of live + requested`,
  full_but_for_pools: (v) =>
    `the device is full: even with what private pools hold free, only ${v.bytes('spare_bytes')} would be left`,
  hardly_any_left: (v) =>
    `the device is full: ${v.bytes('spare_bytes')} would be left of ${v.bytes('limit_bytes')} at most, and the next request fails`,
  whole_step: (v) =>
    `the step does not fit: one like the last peaks at ${v.bytes('projected_bytes')} live, ${v.bytes('short_bytes')} more than is available to the process; fragmentation only made it fail sooner`,
  hidden_limit: (v) =>
    `a limit of the process is used up (a memory fraction, most likely): the device itself had ${v.bytes('device_free_bytes')} free`,
  fraction: (v) =>
    `the process may use ${v.bytes('allowed_bytes')} of the device, and that limit refused the request: the device itself had ${v.bytes('device_free_bytes')} free`,
  refused_though_free: (v) =>
    `what refused it: the device had ${v.bytes('device_free_bytes')} free for a request of ${v.bytes('segment_bytes')}`,
  nearly_full: (v) =>
    `the device is full: even with all free memory in one piece ${v.has('short_bytes') ? 'nothing' : `only ${v.bytes('spare_bytes')}`} would be left of ${v.bytes('limit_bytes')}, and the next request fails`,
  beyond_limit: full,
  full,
  rounding: (v) =>
    `roundup_power2_divisions takes ${v.bytes('rounding_waste_bytes')}; without that rounding the request fits`,
  // Not a spike: the memory stays. But the summary must explain why the first step's forward and backward passed.
  optimizer_states: (v) =>
    `the device is full while the optimizer's states, born in the first optimizer step, are made: at least ${v.bytes('short_bytes')} short`,
  full_in_checkpoint: (v) => `the device is full while ${activity(v)}: at least ${v.bytes('short_bytes')} short`,
  checkpoint: (v) =>
    `${activity(v)} takes ${v.bytes('spike_bytes')} more${v.has('sizes') ? '' : ' at the least'} than training leaves: at least ${v.bytes('short_bytes')} short`,
  logits: (v) =>
    `logits and loss of one micro-batch take ${v.bytes('spike_bytes')} for a moment; steps before needed ${v.bytes('highest_before_bytes')} at most of ${v.bytes('limit_bytes')}`,
  one_tensor: (v) =>
    `one tensor of ${v.bytes('spike_bytes')} is what does not fit: at least ${v.bytes('short_bytes')} short`,
  stage: (v) =>
    `pipeline stage ${v.number('failing_stage')} is full while others have room: at least ${v.bytes('short_bytes')} short there`,
};

/** Of this process, outside its PyTorch. */
const outsideOfProcess = (v: View): string => formatBytes(v.number('outside_bytes') - v.number('foreign_bytes'));

const profiled: Words = (v) =>
  `${outsideOfProcess(v)} of this process are outside PyTorch: ${listed(v.items, ({ name, numbers }) => `${DRIVER_OWNER_WORDS[name as DriverOwner]} ${formatBytes(numbers['bytes']!)}`)}${v.has('grown_bytes') ? `; ${v.bytes('grown_bytes')} were taken after the first step` : ''}`;

const EXTERNAL_PRESSURE: Readonly<Record<string, Words>> = {
  total_unknown: () =>
    'the device total (not in the evidence): ingest the OOM message of this rank, or give --capacity',
  process_unknown: () => 'what this process held: its reserved bytes, or its memory in use',
  allocated_unknown: () => 'the allocated bytes',
  device_had_more: () => 'the device had what was requested from it: no other memory was in the way',
  ordinary: (v) => `${formatBytes(Math.max(0, v.number('outside_bytes')))} outside PyTorch is normal for such a run`,
  full_in_any_case: (v) =>
    `without what could be had of the ${v.bytes('outside_bytes')} outside PyTorch the device would be full too`,
  sibling_processes: (v) =>
    `${v.count('sibling_processes')} other processes of this job hold ${v.bytes('sibling_bytes')} of this device, each about one CUDA context: ranks that did not choose their own device`,
  owner_unknown: (v) =>
    `${v.bytes('outside_bytes')} of the device are outside this process's PyTorch; the message does not name their owner`,
  other_processes: (v) =>
    `other processes hold ${v.bytes('foreign_bytes')} of the device${v.items.length === 0 ? '' : `: ${listed(v.items, processWords)}`}${v.has('owner') ? '; it may be this job’s own inference engine' : ''}`,
  profiled,
  profiled_nccl: profiled,
  nccl_signs: (v) => `${outsideOfProcess(v)} of this process are outside PyTorch, and NCCL is set up to hold much`,
  outside_pytorch: (v) => `${outsideOfProcess(v)} of this process are outside PyTorch (NCCL, CUDA context, libraries)`,
};

const inPieces: Words = (v) =>
  `enough is free inside PyTorch, but not in one piece: ${requestOf(v)} requested, largest usable piece ${v.bytes('largest_usable_bytes')}`;

const FRAGMENTATION: Readonly<Record<string, Words>> = {
  figures_missing: FIGURES_NEEDED,
  slack_unknown: (v) =>
    `a snapshot: with max_split_size_mb, more than the ${v.bytes('short_bytes')} missing may be unused inside blocks that were handed out whole`,
  too_little_free: (v) =>
    `only ${formatBytes(Math.max(0, v.number('cached_bytes')))} of the reserve are free: too little even in one piece`,
  free_in_pools_only: () => 'the free memory is in private pools: elsewhere it is too little even in one piece',
  nearly_full: (v) => `even in one piece only ${v.bytes('spare_bytes')} would be left`,
  device_had_more: () =>
    'a snapshot: the device had more free than was requested, which a message alone cannot explain',
  within_rounding: () => 'exact figures: it fits or not within the rounding of the message',
  block_fits: (v) => `a free block of ${v.bytes('largest_usable_bytes')} would have served the request`,
  oversize_slack: (v) =>
    `max_split_size_mb hands oversize blocks out whole: ${v.bytes('oversize_slack_bytes')} of live memory was never requested`,
  kept_for_larger: () => 'max_split_size_mb kept a block that fits out of reach',
  free_in_pieces: (v) =>
    `${v.bytes('cached_bytes')} are free inside PyTorch and the request still failed: no piece of it was large enough`,
  page_pinning: inPieces,
  split_remainder: inPieces,
  other_stream: inPieces,
  small_large_pool: inPieces,
};

const GRAPH_POOLS: Readonly<Record<string, Words>> = {
  figures_missing: () => 'reserved, allocated and free bytes',
  not_in_message: () => 'a memory snapshot, or a message of torch 2.5 or newer',
  nothing_free: () => 'no private pool holds free memory',
  does_not_decide: (v) => `${v.bytes('idle_in_pools_bytes')} free in private pools do not decide it`,
  full_in_any_case: (v) =>
    `without the ${v.bytes('idle_in_pools_bytes')} free in private pools only ${v.bytes('spare_bytes')} of ${v.bytes('limit_bytes')} would be left: the device is full in any case`,
  free_in_pools: (v) =>
    `private pools (CUDA graphs) hold ${v.bytes('idle_in_pools_bytes')} that the request could have used`,
};

const SYNCHRONISATION: Readonly<Record<string, Words>> = {
  not_in_messages: () => 'a memory snapshot taken at the OOM (pending frees are in no message)',
  does_not_decide: (v) => `${v.bytes('pending_bytes')} of pending frees do not decide it`,
  nothing_waited: () => 'no freed block was waiting for another stream',
  pending: (v) =>
    `${v.bytes('pending_bytes')} of freed memory was waiting for another stream; without it the request fits`,
  freed_by_wait: (v) =>
    `${v.bytes('largest_usable_bytes')} in one piece had been freed but was still in use by another stream when the request came`,
};

const reservedOnly = (v: View): string =>
  v.has('reserved_only_growth_bytes')
    ? ` (reserved memory grew by ${v.bytes('reserved_only_growth_bytes')}, allocated memory did not)`
    : '';
const iterations = (v: View): string => `iterations ${v.count('first_iteration')} to ${v.count('last_iteration')}`;

const LEAK: Readonly<Record<string, Words>> = {
  message_missing: () => 'the figures of the OOM message',
  lines_missing: () => 'allocated memory after at least 4 iterations of this rank (Megatron-LM: --log-memory-interval)',
  fits: (v) => `live + requested fits: no growth filled the device${reservedOnly(v)}`,
  too_early(v) {
    const isFirst = v.number('completed_steps') === 0;
    const when = isFirst ? 'before the first iteration was over' : 'in the second iteration';
    return `it failed ${when}: nothing can have grown over several`;
  },
  foretold: (v) =>
    `allocated memory grew by ${formatBytes(Math.round(v.number('grown_bytes_per_step')))} an iteration where it was printed, and growing on so it fills the device in just the iteration that failed`,
  kept_of_steps: (v) =>
    `${v.name('site')} retains about ${v.bytes('kept_bytes_per_step')} per step (${v.bytes('kept_bytes')} in all); without it the request fits`,
  step_ends_rise(v) {
    const perStep = Math.round(v.number('grown_bytes') / (v.number('whole_steps') - 1));
    return `live memory at the end of a step grew by ${formatBytes(perStep)} each step; without that growth the request fits`;
  },
  no_repeated_site: (v) =>
    `no call site has enough blocks alive: those with several hold ${v.bytes('repeated_bytes')}, less than what is missing`,
  no_earlier_step: (v) =>
    `${v.number('passed_steps') === 0 ? 'no step' : 'only one step'} was over before it: nothing can have grown over several`,
  kept_too_little: (v) => `the ${v.bytes('kept_bytes')} kept of earlier steps do not decide it`,
  none_kept: (v) =>
    `no call site keeps a block of each step over the ${v.count('whole_steps')} whole steps of the trace: their ends differ by ${v.bytes('ends_range_bytes')}, their peaks by ${v.bytes('peaks_range_bytes')}`,
  lines_not_steady(v) {
    const grown = v.number('grown_bytes');
    const change = `${grown < 0 ? '−' : '+'}${formatBytes(Math.abs(grown))}`;
    return `allocated memory does not grow steadily over ${iterations(v)} (${change})${reservedOnly(v)}`;
  },
  lines_level_off: (v) =>
    `allocated memory levels off over ${iterations(v)}: of ${v.bytes('grown_bytes')} only ${formatBytes(Math.max(0, v.number('late_bytes')))} came in the later half`,
  lines_grow_too_little: (v) =>
    `even without the ${v.bytes('grown_bytes')} that grew over ${iterations(v)} it would not have fitted`,
  lines_grow: (v) =>
    `allocated memory grows by ${formatBytes(Math.round(v.number('bytes_per_iteration')))} every iteration; without that growth the request fits`,
};

const TESTS: Readonly<Partial<Record<Cause, Readonly<Record<string, Words>>>>> = {
  external_pressure: EXTERNAL_PRESSURE,
  synchronisation: SYNCHRONISATION,
  graph_pools: GRAPH_POOLS,
  leak: LEAK,
  capacity: CAPACITY,
  fragmentation: FRAGMENTATION,
};

const DOUBTS: Readonly<Record<string, Words>> = {
  step_hardly_fits: () => 'a step like the last whole one needs about all that is available to the process',
  fraction_refused: (v) =>
    `a memory fraction allows ${v.bytes('allowed_bytes')}, and the device itself had ${v.bytes('device_free_bytes')} free: without that limit the request is served`,
  checkpoint_of_unknown_size: () => 'a checkpoint was being written, and its copies would have grown further',
  checkpoint_in_the_making: (v) =>
    `${v.bytes('checkpoint_bytes')} are copies of a checkpoint that was being written, and would have grown further`,
  small_pieces_elsewhere: (v) =>
    `${v.bytes('cached_elsewhere_bytes')} in small pieces of the default pool would be enough in sum`,
  own_engine: () =>
    'no log names the other process, and this run trains and generates on the same devices: it may be its own inference engine',
  weights_follow: (v) =>
    `weights were being made or read, and how many were still to come is unknown: without the other process ${v.bytes('left_bytes')} would be left`,
  lines_grow: () => 'printed memory grows from iteration to iteration, the trace does not show it',
};

/** By the kind of the failure line, or the tuning guides' rule. Such lines report that memory ran out, not whose. */
const REASONS: Readonly<Record<string, string>> = {
  engine_pool:
    'the memory pool of a sleep mode could not take memory from the driver: the device is shared with another phase or process of this job, which had not released it',
  driver: 'an allocation outside the caching allocator failed; such a line carries no figures and decides nothing',
  library: 'a CUDA library failed to set itself up: often, but not always, because the device is full',
  figures_lost:
    'an assertion failed while an OOM message was being written: the device was out of memory, the figures are lost',
  xla_share: "XLA's allocator had no room left in its share of the device, 75 % by default",
  xla_program: 'the compiled program needs more than the memory of the device',
  other_framework: "another framework's allocator ran out; this version does not read its figures",
  nccl: "NCCL's own buffers did not fit next to PyTorch's reserve",
  kv_cache: 'weights and activations leave nothing of the memory budget for the KV cache',
  graph_capture: 'memory ran out while a CUDA graph was captured; the message does not give the size of its pool',
  shared_memory: 'shared memory (/dev/shm) ran out, not the device',
  dataloader_worker: 'a data-loader worker was killed because host memory ran out, not GPU memory',
  control_group: "the job's memory limit on the host (its cgroup) was reached, not the GPU's",
  host: 'host memory ran out, not the device',
  configuration: 'the configuration was refused: not a memory failure',
  timeout: 'a collective timed out: some rank did not arrive, for an unknown reason',
  connection: 'a connection to another rank was lost: that rank had ended, for an unknown reason',
  hardware: 'the device, its memory or its link failed',
  time_limit: 'the job reached its time limit: it was ended, it did not fail',
  cancelled: 'the run was cancelled, by its user or a signal from outside: it was ended, it did not fail',
  preempted: 'the job was preempted: it was ended, it did not fail',
  killed: 'a process received SIGKILL, sender unknown; the host may have been out of memory',
  not_memory: 'run failed; not an out-of-memory error',
  expandable_on: 'the figures are missing; with expandable segments on, what fails is mostly a full device',
  no_test_holds: 'not enough evidence',
};

function reservedWords(v: View): string {
  const isPeak = v.name('moment') === 'peak';
  const headroom = v.has('capacity_bytes')
    ? `; ${formatBytes(v.number('capacity_bytes') - v.number('reserved_bytes'))} of ${v.bytes('capacity_bytes')} ${isPeak ? 'never reserved' : 'not reserved then'}`
    : '';
  return `${isPeak ? 'peak reserved' : 'reserved at the dump'} ${v.bytes('reserved_bytes')}${headroom}`;
}

const SUMMARIES: Readonly<Record<SummaryKind, Words>> = {
  reason(v) {
    if (v.name('reason') === 'refused_though_free')
      return `the device had ${v.bytes('device_free_bytes')} free for a request of ${v.bytes('segment_bytes')}: neither a full device, nor fragmentation, nor another process explains that`;
    if (v.name('reason') !== 'failed_alone') return wordsOf(REASONS, v.name('reason'));
    const most = v.has('most_reserved_bytes') ? ` (they reserved at most ${v.bytes('most_reserved_bytes')})` : '';
    return `the figures are missing; of ${formatCount(v.number('ranks') + 1)} ranks only this one failed${most}, and expandable segments are not set: mostly fragmentation`;
  },
  peak(v) {
    const start = v.has('reason')
      ? `${wordsOf(REASONS, v.name('reason'))}; no OOM is in its traces or logs`
      : 'no OOM entry and no failure line';
    return `${start}; ${reservedWords(v)}`;
  },
  unrecorded: (v) =>
    v.has('failed')
      ? `no OOM recorded in this file, but it looks like a dump at a failure; ${reservedWords(v)}`
      : reservedWords(v),
  empty_snapshot: () =>
    'the snapshot is empty: no segment and no trace entry; the process had no memory, or did not record',
  finished: () => 'run finished normally',
  ended: () => 'the launcher ended its processes, for an unknown reason',
  first_exit(v) {
    const code = v.has('exit_code') ? v.number('exit_code') : 0;
    const how = code === 0 ? '' : code < 0 ? `, by signal ${-code}` : `, with exit code ${code}`;
    const ended = v.has('signalled')
      ? `; ${v.count('signalled')} other${v.number('signalled') === 1 ? ' was' : 's were'} ended after it (SIGTERM)`
      : '';
    return `${endedProcessWords(v)} ended first${how}${ended}; its error is not in these texts`;
  },
  silent: () => 'no line shows how the run ended',
  retried: (v) =>
    `the driver refused memory ${times(v.number('times'))}, and gave it after that: retries, which cost time and no run`,
  refused: (v) =>
    `the driver refused memory ${times(v.number('times'))}, and gave none after that${v.has('held_bytes') ? ` (${v.bytes('held_bytes')} were held)` : ''}; the request and PyTorch's side are not known`,
  no_failure_line: () => 'no failure message is recognised in this text',
};
