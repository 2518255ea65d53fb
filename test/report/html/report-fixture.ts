/** A small run as `report` has it, with one device, two moments, log lines and rows of a query. */
import type { PageDevice } from '../../../src/model/picture/page-data.js';
import type { AtResult } from '../../../src/model/results/at.js';
import type { AttributedDevice, ComponentBytes } from '../../../src/model/results/attribute.js';
import type {
  DiagnoseResult,
  EvidenceResult,
  PeakDevice,
  ShowResult,
  VerdictResult,
} from '../../../src/model/results/common.js';
import type { ReportDevice, ReportMoment, ReportRank, ReportResult } from '../../../src/model/results/report.js';
import type { TimelineStep } from '../../../src/model/results/timeline.js';
import type { Component } from '../../../src/model/vocabulary.js';

export const GIB = 1024 ** 3;
export const MIB = 1024 ** 2;
const SITE = 'forward core/transformer/mlp.py:173';
const LOG = 'rank3.log';

/** Texts that come from files. */
export interface Texts {
  readonly run: string;
  readonly site: string;
  readonly line: string;
  readonly path: string;
}
const TEXTS: Texts = { run: 'night-shift', site: SITE, line: 'torch.OutOfMemoryError: CUDA out of memory.', path: LOG };

export function report(over: Partial<ReportResult> = {}, texts: Texts = TEXTS): ReportResult {
  return {
    subject: 'run',
    title: texts.run,
    program: 'mbforensics 0.1.0',
    operand: texts.run,
    diagnosis: diagnosis(texts),
    evidence: shown(texts),
    devices: [device(texts)],
    other_devices: [{ handle: `${texts.run}/4/snapshot#1`, device: 0 }],
    ranks: ranks(16),
    iterations: {
      rank: 3,
      iteration: [1, 2, 3],
      step_ms: [900, null, 950],
      loss: [3, 2.5, 2.25],
      allocated_bytes: [GIB, 2 * GIB, 3 * GIB],
      peak_allocated_bytes: [null, null, null],
      peak_reserved_bytes: [4 * GIB, 4 * GIB, 4 * GIB],
    },
    diff: null,
    bisection: null,
    history: null,
    is_redacted: false,
    ...over,
  };
}

/** `count` ranks, eight to a stage, or of unknown stages. */
export function ranks(count: number, staged = true): ReportRank[] {
  return Array.from({ length: count }, (_, rank) => ({
    rank,
    stage: staged ? Math.floor(rank / Math.ceil(count / 8)) : null,
    peak_allocated_bytes: 60 * GIB + rank * 12_345_678,
    peak_reserved_bytes: 70 * GIB + rank * 12_345_679,
    ooms: rank === 3 ? 1 : 0,
  }));
}

// ---- diagnosis

function evidence(texts: Texts): EvidenceResult[] {
  const lines = { path: texts.path, line: 12 };
  return [
    {
      id: 'E1',
      kind: 'message',
      numbers: {},
      names: {},
      place: lines,
      about: 'message',
      lines,
      query: { name: 'finding.log_line', params: { path: texts.path } },
      text: texts.line,
      source: `${texts.path} line 12`,
    },
    {
      id: 'E2',
      kind: 'fits_in_pieces',
      numbers: {},
      names: {},
      place: { path: 'snapshot_3.pickle', entry: 99 },
      about: 'test',
      text: '54.00 GiB live + 2.00 GiB requested fit in the 77.00 GiB available to this process',
      source: 'snapshot_3.pickle entry 99',
    },
    {
      id: 'E3',
      kind: 'live_sites',
      numbers: {},
      names: {},
      items: [{ name: texts.site, numbers: { bytes: 30 * GIB + 1, blocks: 7 } }],
      place: { path: 'snapshot_3.pickle', entry: 99 },
      about: 'context',
      text: `largest live sites: 30.00 GiB ${texts.site}`,
      source: 'snapshot_3.pickle entry 99',
    },
  ];
}

/** Parts that add up to the printed total, of which the rounding is below 0. */
const PARTS = [
  { part: 'allocated', bytes: 54 * GIB + 3, of: [54 * GIB, 3] },
  { part: 'pending_free', bytes: 512 },
  { part: 'private_pools', bytes: GIB },
  { part: 'cached_too_small', bytes: 20 * GIB },
  { part: 'cached_other_stream', bytes: 2 * MIB },
  { part: 'outside_pytorch_this_process', bytes: 3 * GIB - 777 },
  { part: 'other_processes', bytes: GIB },
  { part: 'device_free', bytes: GIB },
  { part: 'rounding_of_message', bytes: -12_345 },
];
export const TOTAL = PARTS.reduce((sum, { bytes }) => sum + bytes, 0);

function verdict(texts: Texts): VerdictResult {
  const source = 'snapshot_3.pickle entry 99';
  const all = evidence(texts);
  return {
    rank: 3,
    device: 0,
    cause: 'fragmentation',
    detail: 'split_remainder',
    confidence: 'high',
    basis: 'test',
    reason: 'split_remainder',
    contributors: [],
    summary: `enough is free, but not in one piece: ${texts.site}`,
    evidence: all,
    ruled_out: [],
    missing: ['external pressure: needs the device total'],
    tests: [
      {
        cause: 'fragmentation',
        outcome: 'holds',
        reason: 'split_remainder',
        numbers: { live_bytes: 54 * GIB, segments: 7 },
        capture: null,
        text: 'enough is free, but not in one piece',
      },
    ],
    captures: [
      {
        id: 'nccl_memory',
        settles: ['external_pressure'],
        title: 'what NCCL allocates',
        lines: { megatron_bridge: ['export A=1'], nemo: ['export A=1'], megatron_lm: ['--a 1'], pytorch: ['a = 1'] },
      },
    ],
    combination: ['Every test runs.'],
    accounting_total: { kind: 'total_printed', text: 'device total, as printed in the message', bytes: TOTAL, source },
    accounting: PARTS.map(({ part, bytes, of }) => ({
      ...{ part, bytes, source },
      ...(of === undefined
        ? {}
        : { of: of.map((share, i) => ({ part: ['requested', 'rounding'][i]!, bytes: share, source })) }),
    })),
    accounting_from: 'joined',
    accounting_peak: {
      moment: 'peak',
      seq: 50,
      from: 'snapshot',
      total: { kind: 'total', text: 'device total', bytes: 80 * GIB, source },
      parts: [
        { part: 'allocated', bytes: 70 * GIB + 1, source },
        { part: 'free_or_outside_pytorch', bytes: 10 * GIB - 1, source },
      ],
    },
    components: { moment: 'oom', total_bytes: 54 * GIB, parts: [{ component: 'activation', bytes: 54 * GIB }] },
    hint: { verdict: 'applies', text: "PyTorch's hint is right here", source },
    replay: null,
    what_if: [],
    steps: [],
    next: ['set expandable_segments:True'],
    commands: ['mbforensics show E2'],
    request: { bytes: 2 * GIB, site: texts.site },
  };
}

function diagnosis(texts: Texts): DiagnoseResult {
  const first = verdict(texts);
  return {
    schema: 'mbforensics/diagnose@1',
    run: texts.run,
    verdicts: [first, { ...first, rank: 4, confidence: 'low' }],
    first_failure: null,
    launches: [],
    judged_launch: 1,
    ranks: null,
    read_formats: [],
    failed_sources: [
      {
        path: texts.path,
        error: { code: 'MBF2001', text: `${texts.path} is damaged`, remedy: 'copy it', offset: null },
      },
    ],
    advice: null,
    pinned_host_memory: null,
  };
}

function shown(texts: Texts): ShowResult[] {
  const common = {
    ...({ schema: 'mbforensics/show@1', cause: 'fragmentation' } as const),
    ...{ run: texts.run, verdict: 1, verdicts: 2, rank: 3, device: 0 },
    ...{ handles: null, accounting: null, tests: null, captures: null },
  };
  return evidence(texts).map((entry) => ({
    ...common,
    evidence: entry,
    query: {
      ...{
        name: 'finding.log_line',
        title: 'A line of a log',
        sql: `SELECT '<b>' AS text`,
        params: { path: texts.path },
      },
    },
    columns: [
      { name: 'line_text', type: 'VARCHAR' },
      { name: 'total_bytes', type: 'HUGEINT' },
    ],
    rows: [[texts.line, 123_456_789_012]],
    rows_left_out: 4,
    text: entry.id === 'E1' ? { status: 'same', first_line: 11, lines: ['before', texts.line, 'after'] } : null,
    frames: entry.id === 'E1' ? [texts.site] : null,
  }));
}

// ---- device

function device(texts: Texts): ReportDevice {
  return {
    page: pageDevice(texts),
    bytes: Uint8Array.from({ length: 5_000 }, (_, i) => (i * i) % 251),
    rank: 3,
    path: texts.path,
    timeline: timeline(),
    moments: [moment('oom', 98, 54, texts), moment('peak', 50, 70, texts)],
  };
}

function pageDevice(texts: Texts): PageDevice {
  return {
    title: `rank 3, device 0 of ${texts.run}`,
    handle: `${texts.run}/3/snapshot#1`,
    device: 0,
    firstSeq: 0,
    lastSeq: 99,
    basis: 'actual',
    unitBytes: 512,
    components: ['parameter', 'activation', 'recompute'],
    deviceTotalBytes: 80 * GIB,
    firstTimeUs: null,
    levels: [{ from: 0, to: 99, columns: 100, name: 'whole trace' }],
    marks: [
      { kind: 'oom', seq: 98, text: 'OOM', bytes: 2 * GIB },
      { kind: 'peak', seq: 50, text: 'peak', bytes: 70 * GIB },
    ],
    steps: [],
    blocks: 90,
    allBlocks: 100,
    wholeRanges: [],
    blocksOutside: 0,
    isDump: false,
    segments: 4,
    allSegments: 4,
    bands: 1,
    stacks: 2,
    largePageBytes: 20 * MIB,
    lifetimes: [
      { size: 0, life: -1, blocks: 3, bytes: 1_536 },
      { size: 20, life: 4, blocks: 2, bytes: GIB + 512 },
    ],
  };
}

const step: TimelineStep = {
  ...{ step: 1, occurrence: 1, first_seq: 0, last_seq: 49, start_us: null, end_us: null, partial: null },
  ...{ start_active_bytes: null, peak_active_bytes: 70 * GIB, peak_first_seq: 30, peak_last_seq: 30 },
  ...{ peak_reserved_bytes: 75 * GIB, end_active_bytes: 50 * GIB + 7, end_reserved_bytes: 75 * GIB },
  ...{ allocs: 3, frees: 2, allocated_requested_bytes: GIB, segment_allocs: 0, segment_alloc_bytes: 0 },
  ...{ segment_frees: 0, segment_free_bytes: 0, duration_us: null },
};

function timeline(): ReportDevice['timeline'] {
  const peak = { bytes: 70 * GIB, first_seq: 50, last_seq: 50, time_us: null };
  return {
    device: 0,
    dump: { allocated_bytes: 0, active_bytes: 0, reserved_bytes: 0 },
    trace: {
      entries: 100,
      range: { first_seq: 0, last_seq: 99, first_time_us: null, last_time_us: null },
      ...{ zoomed: false, by: 'index', entries_per_row: 1, basis: 'actual', column_count: 0, columns: [] },
      marks: {
        ...{ peak_active: peak, peak_reserved: peak, ooms: [], snapshots: [], flushes: [], flush_count: 0 },
        ...{ flush_bytes: 0, annotations: [], annotations_left_out: 0 },
      },
      steps: {
        ...{ origin: 'optimizer_step', annotations: [], annotations_of_device: null, without_entries: 0 },
        rows: [step, { ...step, step: 2 }],
        growth: null,
      },
    },
  };
}

function component(name: Component, part: string, bytes: number): ComponentBytes {
  return {
    ...{ component: name, sub_component: part, phase: 'forward', bytes, requested_bytes: bytes, blocks: 1 },
    ...{ resident_bytes: null, by: 'rule', confidence: 'high', rules: [] },
  };
}

function moment(name: ReportMoment['name'], seq: number, gib: number, texts: Texts): ReportMoment {
  const bytes = gib * GIB;
  const attribution: AttributedDevice = {
    ...{ path: texts.path, handle: 'x', rank: 3, stage: 0, device: 0, seq, basis: 'actual', total_bytes: bytes },
    ...{ reserved_bytes: 75 * GIB, blocks: 4, accumulation: [] },
    lifetime: { rule: 'steps', boundary: null, boundaries: 0 } as unknown as AttributedDevice['lifetime'],
    components: [
      component('activation', 'mlp', bytes - 3 * GIB - 11),
      component('activation', 'norm', 2 * GIB + 11),
      component('parameter', 'param_buffer', GIB),
    ],
  };
  const remainder = { bytes: GIB, count: 1, groups: 1 };
  const peak = {
    ...{ device: 0, ran_out: true, seq, moment: name, active_bytes: bytes, reserved_bytes: 75 * GIB, basis: 'actual' },
    ...{ blocks: 4, stacks: [], other_sites: remainder, other_stacks: remainder },
    sites: [{ site: texts.site, bytes: bytes - GIB, count: 3 }],
  } as unknown as PeakDevice;
  return { name, state: state(name, seq, bytes, texts), attribution, peak };
}

function state(name: string, seq: number, bytes: number, { path, site }: Texts): AtResult {
  const share = {
    ...{ segments: 4, reserved_bytes: 75 * GIB, active_bytes: bytes, pending_bytes: 0 },
    ...{ inactive_bytes: 75 * GIB - bytes, largest_hole_bytes: 900 * MIB },
  };
  return {
    ...{ schema: 'mbforensics/at@1', snapshot: 'night-shift/3/snapshot#1', path, rank: 3, device: 0, moment: name },
    ...{ seq, last_seq: 99, time_us: null, basis: 'actual', entry: null, allocated_bytes: bytes, ...share },
    failed_request: name === 'oom' ? { seq: 99, requested_bytes: 2 * GIB, site } : null,
    ...{ requested_bytes: bytes - 5, rounding_bytes: 5, blocks: 4, holes: 2, releasable_bytes: 0 },
    ...{ uncertain_blocks: 0, uncertain_bytes: 0, start: 'late', ring_note: null, nvtx: null },
    fragmentation: { inactive_of_reserved: 0.25, largest_hole_of_inactive: 0.04, squared_gap_index: 0.01 },
    pools: [{ ...share, pool: [0, 0], segment_type: 'large', expandable: false }],
    ...{ streams: [], sites: [], other_sites: { bytes: 0, count: 0, groups: 0 } },
    largest_holes: [
      { address: '7f00', bytes: 900 * MIB + 512, segment: '7f00', pool: [0, 0], segment_type: 'large', stream: 0 },
    ],
    pinned_segments: [
      {
        ...{ segment: '7f00', total_bytes: 2 * GIB, inactive_bytes: GIB, largest_hole_bytes: 900 * MIB },
        ...{ active_bytes: GIB, blocks: 1, expandable: false, releasable_bytes: 0 },
        pinned_by: [{ site, bytes: GIB - 512, count: 1, label: null }],
      },
    ],
    other_pinned_segments: { segments: 0, inactive_bytes: 0 },
  };
}
