/**
 * What was measured, and published: the tables of the guides and of Megatron Bridge's skills. Peaks are decimal GB, throughput is
 * MODEL_TFLOP/s/GPU, as the guides have them; null where none is given.
 */

export interface Workload {
  readonly id: string;
  readonly text: string;
  readonly model: string;
  readonly gpus: string | null;
  readonly golden_tflops: number | null;
  readonly regression_percent: number | null;
}

/** Sizes of the mapping; absent where not given, or not of the workload. */
export interface Layout {
  readonly tp?: number;
  readonly pp?: number;
  readonly vpp?: number;
  readonly dp?: number;
}

export interface Experiment {
  readonly id: string;
  readonly workload: string;
  readonly title: string;
  readonly layout: Layout;
  /** Canonical keys and variables that make it what it is. */
  readonly settings: Readonly<Record<string, string>>;
  readonly tflops: number | null;
  /** Printed as `~`. */
  readonly isRounded?: true;
  readonly vs_golden_percent: number | null;
  readonly peak_gb: number | null;
  /** Against the row that it is compared with; null: there is none, or none was printed. */
  readonly peak_change_gb: number | null;
  /** Percent of the peak, where only that is printed. */
  readonly peak_change_percent: number | null;
  /** Step time over that of the row it is compared with: 1.9 is almost twice as slow. */
  readonly step_factor: number | null;
  /** Percent of the throughput, against the same row. */
  readonly throughput_change_percent: number | null;
  /** What it is compared with. */
  readonly control: string | null;
  /** `matched`: a control that differs in this alone. */
  readonly isMatched: boolean;
  readonly result: string;
  readonly caveat: string;
  readonly source: string;
}

const MEM = 'Megatron Bridge memory tuning skill';
const REC = 'Megatron Bridge activation recompute skill';
const OFF = 'Megatron Bridge CPU offloading skill';

export const LLAMA_70B = 'llama3-70b-sft';

export const WORKLOADS: readonly Workload[] = [
  {
    id: LLAMA_70B,
    text: 'Llama 3 70B SFT, 32 × H100 80GB, FP8 current scaling, MBS 1, GBS 32, seq 4096; baseline TP 4, PP 4, VPP 5, DP 2',
    model: 'Llama 3 70B',
    gpus: '32 × H100 80GB',
    golden_tflops: 709.93,
    regression_percent: 5,
  },
  {
    id: 'qwen3-30b-a3b',
    text: 'Qwen3-30B-A3B; 48 layers, about 70 GB of weights and optimizer at PP 1; 47.2 GB without offload',
    model: 'Qwen3-30B-A3B',
    gpus: 'H100 80GB',
    golden_tflops: null,
    regression_percent: null,
  },
  {
    id: 'moonlight-16b',
    text: 'Moonlight-16B, 8 × H100; 36.6 GB without recompute',
    model: 'Moonlight-16B',
    gpus: '8 × H100',
    golden_tflops: null,
    regression_percent: null,
  },
  {
    id: 'nemotron-3-nano',
    text: 'Nemotron-3-Nano; needs recompute of moe to fit',
    model: 'Nemotron-3-Nano',
    gpus: null,
    golden_tflops: null,
    regression_percent: null,
  },
  {
    id: 'lora-regather',
    text: 'LoRA with sequence parallelism, three models',
    model: 'three models, not named here',
    gpus: null,
    golden_tflops: null,
    regression_percent: null,
  },
];

const NOTHING = {
  layout: {},
  settings: {},
  tflops: null,
  vs_golden_percent: null,
  peak_gb: null,
  peak_change_gb: null,
  peak_change_percent: null,
  step_factor: null,
  throughput_change_percent: null,
  control: null,
  isMatched: false,
  caveat: '',
} as const;

const EXPANDABLE = { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' };
const BASE = { tp: 4, pp: 4, vpp: 5, dp: 2 };

const llama = (row: Pick<Experiment, 'id' | 'title' | 'result' | 'source'> & Partial<Experiment>): Experiment => ({
  ...NOTHING,
  workload: LLAMA_70B,
  layout: BASE,
  ...row,
});

const PARALLELISM: readonly Experiment[] = [
  llama({
    id: 'llama-baseline',
    title: 'baseline',
    settings: { recompute_modules: '["core_attn"]' },
    tflops: 704,
    isRounded: true,
    vs_golden_percent: -0.8,
    peak_gb: 58.8,
    result: 'out of memory on rank 0 by fragmentation',
    caveat: 'throughput is that of a run that ran out of memory later',
    source: MEM,
  }),
  llama({
    id: 'llama-pp8',
    title: 'more PP',
    layout: { tp: 4, pp: 8, vpp: 5, dp: 1 },
    tflops: 668,
    vs_golden_percent: -5.9,
    peak_gb: 53.2,
    peak_change_gb: -5.6,
    control: 'llama-baseline',
    result: 'fits; called borderline',
    caveat: '5.9 % is more than the threshold of 5 %; DP changed too',
    source: MEM,
  }),
  llama({
    id: 'llama-tp8',
    title: 'more TP',
    layout: { tp: 8, pp: 4, vpp: 5, dp: 1 },
    tflops: 508.7,
    vs_golden_percent: -28.4,
    peak_gb: 50.2,
    peak_change_gb: -8.6,
    control: 'llama-baseline',
    result: 'fits; severe regression',
    caveat: '−28.3 % when computed from the two figures; DP changed too',
    source: MEM,
  }),
  llama({
    id: 'llama-expandable',
    title: 'baseline with expandable segments',
    settings: { recompute_modules: '["core_attn"]', ...EXPANDABLE },
    tflops: 704,
    isRounded: true,
    vs_golden_percent: -0.8,
    peak_gb: 59,
    peak_change_gb: 0.2,
    control: 'llama-baseline',
    isMatched: true,
    result: 'passes',
    caveat: 'the peak is about 59 GB; only the allocator differs',
    source: MEM,
  }),
  llama({
    id: 'llama-vpp10',
    title: 'VPP 10 with expandable segments',
    layout: { tp: 4, pp: 4, vpp: 10, dp: 2 },
    settings: EXPANDABLE,
    peak_gb: 60.2,
    peak_change_gb: 1.4,
    control: 'llama-baseline',
    result: 'passes, by expandable segments',
    caveat:
      'told in the text, as the correction of an earlier claim; the rest of the mapping is assumed to be the same',
    source: MEM,
  }),
];

const OFFLOAD_BLOCKED: readonly Experiment[] = [2, 4, 6].map((layers) =>
  llama({
    id: `llama-offload-${layers}`,
    title: `cpu_offloading of ${layers} layers`,
    settings: { cpu_offloading: 'True', cpu_offloading_num_layers: String(layers) },
    result: 'ValueError: not with pipeline parallelism',
    source: MEM,
  }),
);

const RECOMPUTE: readonly Experiment[] = [
  llama({
    id: 'llama-mlp',
    title: 'recompute of mlp',
    settings: { recompute_modules: '["mlp"]' },
    tflops: 593.6,
    vs_golden_percent: -16.4,
    peak_gb: 55.6,
    peak_change_gb: -3.2,
    control: 'llama-baseline',
    result: 'performance regression',
    caveat: 'no control without recompute',
    source: REC,
  }),
  llama({
    id: 'llama-mlp-core',
    title: 'recompute of mlp and core_attn',
    settings: { recompute_modules: '["mlp","core_attn"]' },
    tflops: 586.8,
    vs_golden_percent: -17.3,
    peak_gb: 55.6,
    peak_change_gb: -3.2,
    control: 'llama-baseline',
    result: 'performance regression',
    caveat: '0.9 points worse than mlp alone, for no memory',
    source: REC,
  }),
  llama({
    id: 'llama-layernorm',
    title: 'recompute of core_attn and layernorm',
    settings: { recompute_modules: '["core_attn","layernorm"]' },
    tflops: 702,
    isRounded: true,
    vs_golden_percent: -1.1,
    peak_gb: 59.6,
    peak_change_gb: 0.8,
    control: 'llama-baseline',
    result: 'out of memory on rank 0',
    caveat: 'the peak lies above that of the baseline',
    source: REC,
  }),
];

/** Fraction, GB less of 47.2, factor of the step time. */
const OFFLOAD_CURVE: readonly (readonly [fraction: number, less: number, factor: number])[] = [
  [0.25, 3.8, 1.9],
  [0.5, 7.6, 2.5],
  [0.75, 11.6, 3.2],
  [1, 15.3, 4.2],
];

const qwen = (row: Pick<Experiment, 'id' | 'title' | 'result'> & Partial<Experiment>): Experiment => ({
  ...NOTHING,
  workload: 'qwen3-30b-a3b',
  source: OFF,
  ...row,
});

const OFFLOAD: readonly Experiment[] = [
  qwen({ id: 'qwen-base', title: 'no offload', peak_gb: 47.2, result: 'passes' }),
  ...OFFLOAD_CURVE.map(([fraction, less, factor]) =>
    qwen({
      id: `qwen-offload-${fraction}`,
      title: `optimizer offload, fraction ${fraction}`,
      settings: { optimizer_cpu_offload: 'True', optimizer_offload_fraction: String(fraction) },
      peak_gb: Math.round((47.2 - less) * 10) / 10,
      peak_change_gb: -less,
      step_factor: factor,
      control: 'qwen-base',
      isMatched: true,
      result: 'passes',
    }),
  ),
  qwen({
    id: 'qwen-offload-1-overlap',
    title: 'optimizer offload, fraction 1, with overlap',
    settings: {
      optimizer_cpu_offload: 'True',
      optimizer_offload_fraction: '1.0',
      overlap_cpu_optimizer_d2h_h2d: 'True',
    },
    step_factor: 3.9,
    control: 'qwen-base',
    isMatched: true,
    result: 'passes',
    caveat: 'about 7 % faster than without overlap: Adam on the host is the limit; no peak is printed',
  }),
  qwen({
    id: 'qwen-activations-24',
    title: 'cpu_offloading of 24 layers at PP 1',
    layout: { pp: 1 },
    settings: { cpu_offloading: 'True', cpu_offloading_num_layers: '24' },
    peak_gb: 70.3,
    result: 'out of memory',
    caveat: 'weights and optimizer alone are about 70 GB at PP 1',
  }),
];

/** Modules, percent of the peak, percent of the step time. */
const MOONLIGHT: readonly (readonly [modules: string, memory: number, step: number])[] = [
  ['core_attn', -0.01, 3.85],
  ['mla_up_proj', -1.96, 5.19],
  ['moe_act', -1.85, 1.99],
  ['layernorm,moe_act', -1.83, 10.79],
];

const MATCHED: readonly Experiment[] = [
  ...MOONLIGHT.map(([modules, memory, step]) => ({
    ...NOTHING,
    id: `moonlight-${modules.replace(',', '-')}`,
    workload: 'moonlight-16b',
    title: `recompute of ${modules.replace(',', ' and ')}`,
    settings: { recompute_granularity: 'selective', recompute_modules: JSON.stringify(modules.split(',')) },
    peak_change_percent: memory,
    step_factor: 1 + step / 100,
    control: 'no recompute, 36.6 GB',
    isMatched: true,
    result: 'passes',
    source: REC,
  })),
  {
    ...NOTHING,
    id: 'nemotron-moe',
    workload: 'nemotron-3-nano',
    title: 'recompute of moe',
    settings: { recompute_modules: '["moe"]' },
    peak_gb: 64.65,
    result: 'passes',
    caveat: 'needed to fit, so there is no control without it',
    source: REC,
  },
  {
    ...NOTHING,
    id: 'nemotron-moe-layernorm',
    workload: 'nemotron-3-nano',
    title: 'recompute of moe and layernorm',
    settings: { recompute_modules: '["moe","layernorm"]' },
    peak_gb: 63.64,
    peak_change_gb: -1.01,
    step_factor: 1.031,
    control: 'nemotron-moe',
    isMatched: true,
    result: 'passes',
    source: REC,
  },
  {
    ...NOTHING,
    id: 'nemotron-moe-act',
    workload: 'nemotron-3-nano',
    title: 'recompute of moe_act',
    settings: { recompute_modules: '["moe_act"]' },
    peak_change_percent: -6.3,
    result: 'out of memory in iteration 2',
    caveat: 'the saving is that of iteration 1, before the optimizer has states',
    source: REC,
  },
  ...(
    [
      [-4.73, -6.74],
      [-1.57, -2.89],
      [-0.81, -0.34],
    ] as const
  ).map(([gb, percent], index) => ({
    ...NOTHING,
    id: `lora-regather-${index + 1}`,
    workload: 'lora-regather',
    title: `sequence_parallel_input_regather, model ${index + 1}`,
    settings: { sequence_parallel_input_regather: 'True', sequence_parallel: 'True' },
    throughput_change_percent: percent,
    peak_change_gb: gb,
    control: 'the same run without it',
    isMatched: true,
    result: 'passes',
    source: MEM,
  })),
];

export const EXPERIMENTS: readonly Experiment[] = [
  ...PARALLELISM,
  ...OFFLOAD_BLOCKED,
  ...RECOMPUTE,
  ...OFFLOAD,
  ...MATCHED,
];
