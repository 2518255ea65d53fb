/** What may take memory and is in no figure: always, or because of something this configuration sets. */
import type { EstimateInputs } from '../inputs.js';

interface Gap {
  readonly what: string;
  /** Absent: of every configuration. */
  applies?(inputs: EstimateInputs): boolean;
}

const GAPS: readonly Gap[] = [
  {
    what: 'fragmentation and rounding of the caching allocator (2 MiB segments, 512 B blocks): peaks are of allocated, not reserved memory',
  },
  {
    what: 'tensors kept alive by record_stream until a later collective ends (TORCH_NCCL_AVOID_RECORD_STREAMS=1 avoids them)',
  },
  { what: 'evaluation, checkpoint staging, logging of norms, attention masks unknown from the settings' },
  {
    what: 'pools and static buffers of CUDA graphs: a few GB, more than 10 GB with pp > 1',
    applies: ({ given }) =>
      given.enable_cuda_graph === true || (given.cuda_graph_impl !== undefined && given.cuda_graph_impl !== 'none'),
  },
  { what: 'registered and double buffers of nccl_ub', applies: ({ given }) => given.nccl_ub === true },
  { what: 'user buffers of tp_comm_overlap', applies: ({ given }) => given.tp_comm_overlap === true },
  { what: 'buffers of DeepEP, HybridEP and NVSHMEM', applies: ({ experts, ep }) => experts !== null && ep > 1 },
  { what: 'layers kept in bf16 at both ends of an fp8 model', applies: ({ given }) => given.fp8 !== undefined },
  {
    what: 'weights offloaded with cpu_offloading_weights',
    applies: ({ given }) => given.cpu_offloading_weights === true,
  },
  { what: 'CP’s key and value exchange', applies: ({ cp }) => cp > 1 },
  { what: 'sequences shorter than seq_length, or packed into it', applies: () => true },
];

/**
 * Upstream: Megatron-LM `megatron/core/model_parallel_config.py` `dynamic_context_parallel`, branch dev of August 2026;
 * `hybrid_context_parallel` of core 0.16 to 0.19.
 */
export function dynamicContextParallel({ given, seq, cp }: EstimateInputs): string[] {
  if (given.dynamic_context_parallel !== true && given.hybrid_context_parallel !== true) return [];
  const most = given.max_seqlen_per_dp_cp_rank;
  const limit =
    most === undefined ? 'max_seqlen_per_dp_cp_rank, which is not set' : `max_seqlen_per_dp_cp_rank = ${most}`;
  return [
    `dynamic context parallelism: a rank holds up to ${limit} tokens of packed sequences and not seq_length / cp = ${seq / cp}, so that activations and logits differ from these figures`,
  ];
}

export function notModelled(inputs: EstimateInputs): string[] {
  return [...dynamicContextParallel(inputs), ...ofGaps(inputs)];
}

function ofGaps(inputs: EstimateInputs): string[] {
  return GAPS.filter(({ applies }) => applies?.(inputs) ?? true).map(({ what }) => what);
}
