/** Hand-made results of `compare`, `triage`, `golden` and `bisect report`: what the renderers are tested with. */

import type { DiffSite } from '../../src/model/diff-parts.js';
import type { MeasuredPeak, MeasuredRank, Measurement } from '../../src/model/measurement.js';
import type { BisectReportResult } from '../../src/model/results/bisect.js';
import type {
  CompareCheck,
  ComparedRun,
  CompareResult,
  ContractEntry,
  Suspect,
  TriageResult,
} from '../../src/model/results/compare.js';
import type { GoldenListResult, GoldenShowResult } from '../../src/model/results/golden.js';
import { GIB, MIB } from '../../src/model/units.js';

export const SHA_GOLDEN = 'd34db33f00112233445566778899aabbccddeeff';
export const SHA_CURRENT = 'abc1234567890abcdef1234567890abcdef12345';

export const gib = (value: number): number => Math.round(value * GIB);

type Figures = Pick<CompareCheck, 'name' | 'golden' | 'current' | 'unit' | 'delta' | 'relative' | 'tolerance'>;
const PLAIN: Omit<CompareCheck, keyof Figures> = {
  ...{ status: 'pass', gate: false, noise: null, detectable: null, detectable_repeated: null, reason: null },
  ...{ why: null, is_least: false },
};

/** A check of figures; change and share follow from the two sides. */
export function check(name: string, golden: number, current: number, over: Partial<CompareCheck> = {}): CompareCheck {
  const relative = golden === 0 ? null : (current - golden) / golden;
  return {
    ...PLAIN,
    name,
    golden,
    current,
    unit: 'bytes',
    delta: current - golden,
    relative,
    tolerance: 0.02,
    ...over,
  };
}

export function statusCheck(golden: string, current: string, over: Partial<CompareCheck> = {}): CompareCheck {
  const status = golden === current ? 'pass' : 'regression';
  const texts = { name: 'status', golden, current, unit: '', delta: null, relative: null, tolerance: null };
  return { ...PLAIN, ...texts, status, gate: true, ...over };
}

export function entry(
  group: ContractEntry['group'],
  key: string,
  golden: string | null,
  current: string | null,
  blocking = false,
): ContractEntry {
  const isEqual = golden === null || current === null || golden === current;
  return { group, key, golden, current, same: isEqual, blocking: blocking && !isEqual };
}

export function site(name: string, a: number, b: number, over: Partial<DiffSite> = {}): DiffSite {
  return {
    ...{ site: name, a_site: name, b_site: name, a_bytes: a, b_bytes: b, delta_bytes: b - a },
    ...{ a_count: 32, b_count: 32, delta_count: 0, match: 'exact', through: null, sizes: [], callers: [] },
    ...over,
  };
}

export function comparedRun(name: string, over: Partial<ComparedRun> = {}): ComparedRun {
  return { name, commit: null, ending: 'completed', origin: 'run', runs: 1, steps: null, ...over };
}

const FAILS = { status: 'regression', gate: true } as const;
const NOTHING = { golden: null, current: null, delta: null, relative: null, tolerance: null };

const UNCHANGED: readonly ContractEntry[] = [
  entry('model', 'num_layers', '32', '32'),
  entry('workload', 'seq_length', '4096', '4096'),
  entry('precision', 'bf16', 'true', 'true'),
  entry('device', 'gpu', 'NVIDIA H100 80GB HBM3', 'NVIDIA H100 80GB HBM3'),
  entry('layout', 'tp', '2', '2'),
];

const KEEP = 'Keep the MLP input for the backward pass';
export const SUSPECT: Suspect = {
  file: '3rdparty/Megatron-LM/megatron/core/transformer/mlp.py',
  hunk: '@@ -120,3 +121,4 @@ def forward(self, hidden_states):',
  reason: 'it changes the lines of the call site that grew most',
  score: 0.92,
  commits: [{ sha: SHA_CURRENT, subject: KEEP }],
  lines: ['-        del hidden_states', '+        self.saved = hidden_states'],
};

export const KNOB: Suspect = {
  ...{ file: '', key: 'recompute_granularity', reason: 'full recompute was switched off', score: 0.4 },
  ...{ commits: [], lines: [] },
};

/** Nothing but what every result has. */
export function emptyCompare(over: Partial<CompareResult> = {}): CompareResult {
  return {
    ...{ schema: 'mbforensics/compare@1', verdict: 'undecided', preset: 'default' },
    summary: 'no figure is known in both runs',
    golden: comparedRun('nightly', { origin: 'golden' }),
    current: comparedRun('run-17', { ending: null }),
    ...{ contract: [], refused: null, checks: [], components: [], sites: [], config: [], env: [] },
    ...{ suspects: [], notes: [], ...over },
  };
}

const sides = (a: number, b: number) => ({ a_bytes: a, b_bytes: b, delta_bytes: b - a });

/** Activations of the first stage grew. */
export function regression(over: Partial<CompareResult> = {}): CompareResult {
  return emptyCompare({
    verdict: 'regression',
    summary: 'peak allocated memory grew by 3.30 GiB, 6.0 %, of the 2 % that pass',
    golden: comparedRun('nightly', { origin: 'golden', commit: SHA_GOLDEN, runs: 3, steps: null }),
    current: comparedRun('run-17', { commit: SHA_CURRENT }),
    contract: [entry('revision', 'commit run', SHA_GOLDEN, SHA_CURRENT), ...UNCHANGED],
    checks: [
      statusCheck('completed', 'completed', { reason: '50 of 50 iterations' }),
      check('peak_allocated', gib(54.8), gib(58.1), {
        ...{ ...FAILS, noise: gib(0.05), reason: 'rank 0 (stage 0), the largest of 4 ranks' },
      }),
      check('step_time', 2366.6, 2400.1, {
        ...{ unit: 'ms', tolerance: 0.03, status: 'undecided', gate: true, noise: 80 },
        reason: 'a straggler was reported in iterations 20 to 31',
      }),
      check('peak_allocated:stage 0', gib(54.8), gib(58.1), FAILS),
      check('peak_allocated:stage 1', gib(40.2), gib(40.2), { gate: true }),
      check('peak_reserved', gib(60), gib(62.5), { tolerance: null, status: 'info' }),
      check('throughput', 402.1, 396.5, { unit: 'TFLOP/s/GPU', tolerance: 0.03 }),
      { ...check('loss', 0, 0, { unit: '1', status: 'skipped' }), ...NOTHING, reason: 'a side prints no loss' },
      check('component:activation', gib(20), gib(23.3), { status: 'regression' }),
      check('component:parameter', gib(30), gib(30)),
    ],
    components: [
      { component: 'activation', ...sides(gib(20), gib(23.3)) },
      { component: 'parameter', ...sides(gib(30), gib(30)) },
      { component: 'workspace', ...sides(64 * MIB, 32 * MIB) },
    ],
    sites: [
      site('forward megatron/core/transformer/mlp.py:123', gib(4), gib(7.3), {
        ...{ a_count: 32, b_count: 64 },
        callers: [
          { caller: '_forward_mlp megatron/core/transformer/transformer_layer.py:640', ...sides(gib(4), gib(7.3)) },
        ],
      }),
      site('get_workspace transformer_engine/pytorch/module/base.py:88', 64 * MIB, 32 * MIB),
    ],
    config: [{ key: 'recompute_granularity', a: 'full', b: null }],
    env: [
      { key: 'PYTORCH_CUDA_ALLOC_CONF', a: 'expandable_segments:True', b: null },
      { key: 'NVTE_FUSED_ATTN', a: '1', b: '0' },
    ],
    suspects: [SUSPECT, KNOB],
    notes: ['the snapshots are of rank 0 alone'],
    ...over,
  });
}

/** Another model: nothing is judged. */
export function refused(over: Partial<CompareResult> = {}): CompareResult {
  const reason = 'not comparable: num_layers 32 → 64, gpu_total_bytes 85899345920 → 151397597184';
  return emptyCompare({
    ...{ summary: reason, refused: reason, checks: [statusCheck('completed', 'completed')] },
    golden: comparedRun('nightly', { origin: 'golden', commit: SHA_GOLDEN, runs: 3, steps: null }),
    contract: [
      entry('model', 'num_layers', '32', '64', true),
      entry('device', 'gpu_total_bytes', String(80 * GIB), String(141 * GIB), true),
      entry('layout', 'tp', '2', '4'),
      entry('workload', 'seq_length', '4096', '4096'),
      entry('precision', 'bf16', 'true', null),
    ],
    ...over,
  });
}

/** As Megatron Bridge's own script judges. */
export function bridge(over: Partial<CompareResult> = {}): CompareResult {
  return emptyCompare({
    verdict: 'regression',
    summary: 'GPU utilization −6.1 %; max_alloc +6.0 %; max_reserved: the current values have none',
    preset: 'bridge',
    golden: comparedRun('golden/llama3_70b.json', { origin: 'file' }),
    current: comparedRun('run-17', { commit: SHA_CURRENT }),
    contract: UNCHANGED,
    checks: [
      check('GPU utilization', 709.93, 666.48, {
        ...{ ...FAILS, unit: 'TFLOP/s/GPU', tolerance: 0.05, reason: 'mean of steps 35 to 49' },
      }),
      check('alloc', 20.5, 20.6, { unit: 'GB', tolerance: 0.05, gate: true }),
      check('max_alloc', 55, 58.3, { ...FAILS, unit: 'GB', tolerance: 0.05 }),
      {
        ...check('max_reserved', 60, 0, { ...FAILS, unit: 'GB', tolerance: 0.05 }),
        ...{ current: null, delta: null, relative: null, reason: 'the current values have none, which fails upstream' },
      },
    ],
    ...over,
  });
}

export function triage(over: Partial<TriageResult> = {}): TriageResult {
  return {
    ...{ schema: 'mbforensics/triage@1', judgement: 'bad', criterion: 'memory' },
    reason: 'peak allocated 58.1 GiB against 54.8 GiB: +6.1 %, tolerance 2 %',
    why: { code: 'figure', check: check('peak_allocated', gib(54.8), gib(58.1)) },
    evidence: [
      { text: 'rank 0 prints max_allocated 59494.4 MB after iteration 2', source: 'run-17/train.log:812' },
      { text: 'three golden runs lie between 54.79 and 54.81 GiB', source: 'golden nightly' },
    ],
    ...{ run: 'run-17', commit: SHA_CURRENT, golden: 'nightly', checks: [], settings: [], ...over },
  };
}

export function measuredRank(
  rank: number,
  stage: number,
  peak: number,
  over: Partial<MeasuredRank> = {},
): MeasuredRank {
  return {
    ...{ rank, stage, first_iteration: 1, last_iteration: 50, alloc_retries: 0, precision_bytes: MIB / 2 },
    ...{ first_peak_allocated_bytes: peak - gib(2), peak_allocated_bytes: peak, peak_reserved_bytes: peak + gib(4) },
    ...{ first_allocated_bytes: peak - gib(22), allocated_bytes: peak - gib(20), ...over },
  };
}

export const PEAK: MeasuredPeak = {
  ...{ handle: 'run-1/0/snapshot#1', rank: 0, device: 0, moment: 'peak', basis: 'actual' },
  ...{ active_bytes: gib(54), requested_bytes: null, reserved_bytes: gib(58) },
  components: { parameter: gib(20), optimizer_state: gib(14), activation: gib(19.5), unattributed: gib(0.25) },
  ...{ frames: [], sites: [], rest_bytes: 0, rest_count: 0 },
  settings: { expandable_segments: 'True', 'roundup_power2_divisions.64': '0' },
};

export function measurement(run: string, over: Partial<Measurement> = {}): Measurement {
  return {
    ...{ run, label: null, commit: SHA_GOLDEN },
    status: {
      ...{ ending: 'completed', failure: null, verdict: null, attempts: 1 },
      ...{ first_iteration: 1, last_iteration: 50, target_iterations: 50 },
    },
    world_size: 4,
    parallel: { tp: 2, pp: 2, vpp: null, cp: 1, ep: 1, dp: 1, etp: null },
    gpu: { name: 'NVIDIA H100 80GB HBM3', total_bytes: 84_929_347_584 },
    versions: { torch: '2.6.0', cuda: '12.8' },
    commits: {},
    allocator_conf: 'expandable_segments:True',
    ranks: [54.8, 54.7, 40.2, 40.2].map((peak, rank) => measuredRank(rank, Math.floor(rank / 2), gib(peak))),
    peaks: [PEAK],
    steps: {
      ...{ from: 11, to: 50, count: 40, warm_up: 10, median_ms: 2366.6, spread_ms: 5.2, min_ms: 2358.1 },
      ...{ max_ms: 2391.4, median_tflops: 402.1, spread_tflops: 0.9 },
    },
    series: { iteration: [], loss: [], step_ms: [], tflops: [], grad_norm: [] },
    config: { micro_batch_size: '1', seq_length: '4096', num_layers: '32', fp8: 'null', lr: '0.0003', seed: '1234' },
    ...{ env: {}, disturbances: [], ...over },
  };
}

export function goldenShow(over: Partial<GoldenShowResult> = {}): GoldenShowResult {
  return {
    schema: 'mbforensics/golden-show@1',
    name: 'nightly',
    source: 'mbforensics.duckdb',
    runs: [
      measurement('run-1'),
      measurement('run-2', { ranks: [measuredRank(0, 0, gib(54.9)), measuredRank(2, 1, gib(40.2))], peaks: [] }),
    ],
    bands: [
      {
        ...{ metric: 'peak_allocated', unit: 'bytes', runs: 2 },
        ...{ low: gib(54.8), median: gib(54.85), high: gib(54.9), spread: gib(0.07) },
      },
      { metric: 'step_time', unit: 'ms', runs: 2, low: 2366.6, median: 2368, high: 2369.4, spread: 2 },
    ],
    ...over,
  };
}

export function goldenList(over: Partial<GoldenListResult> = {}): GoldenListResult {
  return {
    schema: 'mbforensics/golden-list@1',
    db: 'mbforensics.duckdb',
    goldens: [
      {
        ...{ name: 'nightly', runs: 3, commits: [SHA_GOLDEN, SHA_GOLDEN, SHA_CURRENT], ending: 'completed' },
        ...{ added_at: '2026-11-20T03:12:45.123Z', peak_allocated_bytes: gib(54.8), step_ms: 2366.6 },
        spread_percent: 0.21,
      },
      {
        ...{ name: 'oom-case', runs: 1, commits: [null], added_at: '2026-11-21T10:00:00.000Z', ending: 'oom' },
        ...{ peak_allocated_bytes: null, step_ms: null, spread_percent: null },
      },
    ],
    ...over,
  };
}

export function bisectReport(over: Partial<BisectReportResult> = {}): BisectReportResult {
  const { components, sites, config, env } = regression();
  return {
    ...{ schema: 'mbforensics/bisect-report@1', criterion: 'memory', golden: 'nightly', state: 'found' },
    culprit: { sha: SHA_CURRENT, subject: KEEP, judged_runs: 2 },
    suspects_left: [],
    steps: [
      {
        ...{ sha: '1111111aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', subject: 'Bump the container', judgement: 'skip' },
        ...{ runs: 1, reason: 'NCCL timeout before the first iteration', bundle: 'bisect/1111111', place: 20 },
        figure: null,
      },
      {
        ...{ sha: SHA_CURRENT, subject: KEEP, judgement: 'bad', runs: 2, bundle: 'bisect/abc1234', place: 30 },
        reason: 'peak allocated 58.1 GiB against 54.8 GiB: +6.1 %, tolerance 2 %',
        figure: { name: 'peak_allocated', value: gib(58.1), unit: 'bytes' },
      },
      {
        ...{ sha: SHA_GOLDEN, subject: 'Rename a test', judgement: 'good', runs: 1, bundle: '', place: 10 },
        reason: 'peak allocated 54.8 GiB: as golden',
        figure: { name: 'peak_allocated', value: gib(54.8), unit: 'bytes' },
      },
    ],
    before: { sha: SHA_GOLDEN, run: 'bisect-d34db33' },
    after: { sha: SHA_CURRENT, run: 'bisect-abc1234' },
    ...{ total_delta_bytes: gib(3.3), components, sites, config, env },
    checks: [
      check('peak_allocated', gib(54.8), gib(58.1), FAILS),
      check('step_time', 2366.6, 2370.2, { unit: 'ms', tolerance: 0.03, gate: true }),
    ],
    ...{ settings: [], suspects: [SUSPECT], notes: [], confidence: 'high' },
    confidence_reason: 'both neighbours were judged, the culprit twice',
    ...over,
  };
}

/** What a hostile log or repository would put into every text. */
export const HOSTILE =
  '\u001b[31m|`<script>alert(1)</script>`|\n# heading ]]> & "q" \'s\' **b** _i_ [x](http://e.vil) @all $x$ \u0000\ud800\ufffe';

/** The same result with {@link HOSTILE} in every text that comes from outside. */
export function hostileCompare(base: CompareResult = regression()): CompareResult {
  const h = HOSTILE;
  return {
    ...base,
    summary: `${base.summary} ${h}`,
    golden: { ...base.golden, name: h, commit: h },
    current: { ...base.current, name: h, commit: h },
    refused: base.refused === null ? null : h,
    contract: [...base.contract, { ...entry('model', h, h, `${h}2`, true), same: false }],
    checks: [
      ...base.checks,
      statusCheck(h, `${h}2`, { name: h, reason: h }),
      check(`${h} of bytes`, 1, 2, { unit: h, gate: true, status: 'undecided', reason: h }),
    ],
    sites: [
      ...base.sites,
      site(h, 0, gib(1), { match: 'renamed', a_site: h, through: h, callers: [{ ...CALLER, caller: h }] }),
    ],
    config: [...base.config, { key: h, a: h, b: null }],
    env: [...base.env, { key: h, a: null, b: h }],
    suspects: [
      ...base.suspects,
      { file: h, hunk: h, reason: h, score: 0.1, commits: [{ sha: h, subject: h }], lines: [h] },
      { file: h, key: h, reason: h, score: 0.1, commits: [], lines: [] },
    ],
    notes: [...base.notes, h],
  };
}
const CALLER = { caller: '', a_bytes: 0, b_bytes: gib(1), delta_bytes: gib(1) };
