/**
 * Values, as configurations write them (`True`, `8`, `["mlp"]`, `bfloat16`), in Python, on a command line and in a
 * shell.
 */

const DTYPES: Readonly<Record<string, string>> = {
  bfloat16: 'bf16',
  float16: 'fp16',
  float32: 'fp32',
  half: 'fp16',
  bf16: 'bf16',
  fp16: 'fp16',
  fp32: 'fp32',
};
const TORCH_DTYPES: Readonly<Record<string, string>> = {
  bf16: 'torch.bfloat16',
  fp16: 'torch.float16',
  fp32: 'torch.float32',
};

const PLAIN = /^[\w.:,/+@%=-]+$/;
const NUMBER = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;

export function shellValue(value: string): string {
  return PLAIN.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

/** A list is its words; data types have short names. */
export function shellWords(value: string): string {
  const list = listOf(value);
  if (list !== null) return list.map((item) => shellValue(String(item))).join(' ');
  return shellValue(DTYPES[value] ?? value);
}

/** As it is written into a recipe. */
export function pythonLiteral(key: string, value: string | null): string {
  if (value === null) return 'None';
  if (value === 'True' || value === 'False' || value === 'None' || NUMBER.test(value)) return value;
  if (key === 'attention_backend') return `AttnBackend.${value}`;
  const list = listOf(value);
  if (list !== null) return `[${list.map((item) => (typeof item === 'number' ? item : quoted(item))).join(', ')}]`;
  const dtype = Object.hasOwn(DTYPES, value) && /dtype/.test(key) ? TORCH_DTYPES[DTYPES[value] ?? ''] : undefined;
  return dtype ?? quoted(value);
}

const quoted = (text: string): string => JSON.stringify(text);

function listOf(value: string): readonly (string | number)[] | null {
  if (!value.startsWith('[')) return null;
  try {
    const parsed: unknown = JSON.parse(value);
    if (!Array.isArray(parsed)) return null;
    return parsed.map((item: unknown) => (typeof item === 'number' ? item : String(item)));
  } catch {
    return null;
  }
}

/** Megatron-LM arguments that are not named after the setting; null: it has none. */
const FLAGS: Readonly<Record<string, string | null>> = {
  virtual_pipeline_model_parallel_size: '--num-virtual-stages-per-pipeline-rank',
  num_layers_in_first_pipeline_stage: '--decoder-first-pipeline-num-layers',
  num_layers_in_last_pipeline_stage: '--decoder-last-pipeline-num-layers',
  microbatch_group_size_per_vp_stage: '--microbatch-group-size-per-virtual-pipeline-stage',
  grad_reduce_in_fp32: '--accumulate-allreduce-grads-in-fp32',
  bucket_size: '--ddp-bucket-size',
  average_in_collective: '--ddp-average-in-collective',
  nccl_ub: '--use-nccl-ub',
  fp8: '--fp8-format',
  fp4: '--fp4-format',
  use_te_rng_tracker: '--te-rng-tracker',
  // The size of the job, which the launcher determines.
  world_size: null,
  data_parallel_size: null,
  nnodes: null,
  nproc_per_node: null,
  // Of Bridge's and NeMo's alone.
  cpu_offloading_activations: null,
  cpu_offloading_weights: null,
  cpu_offloading_double_buffering: null,
  pipeline_dtype: null,
  decoupled_weight_decay: null,
  packed_sequence_size: null,
  sequence_parallel_input_regather: null,
  fp8_param: null,
  use_nsys_profiler: '--profile',
  'strategy.fsdp': null,
};

export function flagOf(key: string): string | null {
  return Object.hasOwn(FLAGS, key) ? (FLAGS[key] ?? null) : `--${key.replaceAll('_', '-')}`;
}
