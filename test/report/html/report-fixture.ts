/**
 * A small run as `report` has it: the documents of docs/screens, which are of samples/capacity, and a device with
 * made-up columns.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PageDevice } from '../../../src/model/picture/page-data.js';
import type { AtResult } from '../../../src/model/results/at.js';
import type { AttributeResult } from '../../../src/model/results/attribute.js';
import type { DiagnoseResult, PeakResult, ShowResult, VerdictCapture } from '../../../src/model/results/common.js';
import { VERSION_NAMES } from '../../../src/model/results/log.js';
import type { ReportFacts, ReportMoment, ReportRank, ReportResult } from '../../../src/model/results/report.js';
import type { TimelineResult, TimelineStep } from '../../../src/model/results/timeline.js';
import { repoRoot } from '../../store/scratch.js';

export const GIB = 1024 ** 3;
export const MIB = 1024 ** 2;
const LOG = 'log-foundation-foundation.qwen25-32b-longctx-tp1pp8-87191_7586959_0.out';

/** Texts that come from files. */
export interface Texts {
  readonly run: string;
  readonly site: string;
  readonly line: string;
  readonly path: string;
}
const TEXTS: Texts = {
  ...{ run: 'capacity', site: 'general_gemm pytorch/cpp_extensions/gemm.py:134', path: LOG },
  line: 'torch.OutOfMemoryError: CUDA out of memory.',
};

/** A document of docs/screens with other names. */
function documentOf<T>(name: string, texts: Texts): T {
  const text = readFileSync(join(repoRoot, 'docs', 'screens', `${name}.json`), 'utf8');
  return JSON.parse(text, (key, value: unknown) => {
    if (typeof value !== 'string') return value;
    if (key === 'run') return texts.run;
    return value.replaceAll(TEXTS.path, () => texts.path).replaceAll(TEXTS.site, () => texts.site);
  }) as T;
}

export function report(over: Partial<ReportResult> = {}, texts: Texts = TEXTS): ReportResult {
  const diagnosis = diagnosisOf(texts);
  return {
    ...{ subject: 'run', title: texts.run, program: 'mbforensics 0.1.0', operand: texts.run, diagnosis },
    facts: [factsOf(texts)],
    evidence: diagnosis.verdicts[0]!.evidence.map((evidence) => ({
      ...documentOf<ShowResult>('show', texts),
      evidence,
      columns: [
        { name: 'line_text', type: 'VARCHAR' },
        { name: 'total_bytes', type: 'HUGEINT' },
      ],
      rows: [[texts.line, 123_456_789_012]],
      text: evidence.id === 'E2' ? { status: 'same', first_line: 654, lines: ['before', texts.line, 'after'] } : null,
      frames: evidence.id === 'E2' ? [texts.site] : null,
    })),
    devices: [
      {
        page: pageDevice(texts),
        bytes: Uint8Array.from({ length: 5_000 }, (_, i) => (i * i) % 251),
        rank: 3,
        path: texts.path,
        timeline: timelineOf(texts),
        moments: [momentOf('oom', texts), momentOf('peak', texts)],
      },
    ],
    other_devices: [{ handle: `${texts.run}/4/snapshot#1`, device: 0 }],
    ranks: ranks(16),
    iterations: {
      ...{ rank: 3, iteration: [1, 2, 3], step_ms: [900, null, 950], loss: [3, 2.5, 2.25] },
      allocated_bytes: [GIB, 2 * GIB, 3 * GIB],
      peak_allocated_bytes: [null, null, null],
      peak_reserved_bytes: [4 * GIB, 4 * GIB, 4 * GIB],
    },
    ...{ diff: null, bisection: null, history: null, lake: null, is_redacted: false },
    ...over,
  };
}

/** A run whose log prints little, and whose message is of two lines. */
function factsOf({ run, line, path }: Texts): ReportFacts {
  const versions = Object.fromEntries(VERSION_NAMES.map((name) => [name, null])) as ReportFacts['versions'];
  return {
    ...{ run, world_size: 16, commits: { run: '0123456789abcdef' }, allocator_conf: 'expandable_segments:True' },
    parallel: { tp: 1, pp: 8, vpp: null, cp: 1, ep: 1, dp: 2, etp: null },
    versions: { ...versions, torch: '2.8.0+cu129', cuda: '12.9', apex: '0.1' },
    gpu: { name: 'NVIDIA H100 80GB HBM3', total_bytes: 84_943_715_697, count: 16 },
    origins: { allocator_conf: 'PYTORCH_CUDA_ALLOC_CONF, env: launch.sh line 3', 'versions.torch': `${path} line 7` },
    model: { name: 'acme.llama.Llama3ModelProvider70B', sizes: { num_layers: 80, hidden_size: 8192 } },
    errors: [{ file: path, line: 655, rank: 1, text: `${line}\nTried to allocate 594.00 MiB.` }],
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

/** Of a second rank too, with a damaged file and what one would have to record. */
function diagnosisOf(texts: Texts): DiagnoseResult {
  const diagnosis = documentOf<DiagnoseResult>('diagnose', texts);
  const [first] = diagnosis.verdicts;
  const capture: VerdictCapture = {
    ...{ id: 'nccl_memory', settles: ['external_pressure'], title: 'what NCCL allocates' },
    lines: { megatron_bridge: ['export A=1'], nemo: ['export A=1'], megatron_lm: ['--a 1'], pytorch: ['a = 1'] },
  };
  const error = { code: 'MBF2001', text: `${texts.path} is damaged`, remedy: 'copy it', offset: null };
  return {
    ...diagnosis,
    ...{ launch_ooms: [], run_state: null, caught_ooms: null },
    verdicts: [
      { ...first!, missing: ['external pressure: needs the device total'], captures: [capture] },
      { ...first!, rank: 4, confidence: 'low' },
    ],
    failed_sources: [{ path: texts.path, error }],
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
    ...{ firstTimeUs: null, noTimes: 'missing' },
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

function timelineOf(texts: Texts): ReportResult['devices'][number]['timeline'] {
  const device = documentOf<TimelineResult>('timeline', texts).snapshots[0]!.devices[0]!;
  const trace = device.trace!;
  const steps = { ...trace.steps, origin: 'optimizer_step' as const, rows: [step, { ...step, step: 2 }] };
  return { ...device, trace: { ...trace, steps } };
}

const momentOf = (name: ReportMoment['name'], texts: Texts): ReportMoment => ({
  name,
  state: { ...documentOf<AtResult>('state', texts), moment: name },
  attribution: documentOf<AttributeResult>('attribute', texts).devices[0]!,
  peak: documentOf<PeakResult>('peak', texts).snapshots[0]!.devices[0]!,
});
