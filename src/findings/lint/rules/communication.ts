/** Communication: what overlaps with what, bucket sizes, and the connections of the device. */
import {
  above,
  all,
  any,
  below,
  capabilityBelow,
  envNot,
  given,
  missing,
  numbers,
  off,
  on,
} from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { asked, IN_BRIDGE_OR_NEMO, IN_MEGATRON_LM, sized, told } from './mapping-terms.js';
import { ARG, MBO } from './sources.js';

const GUIDES = 'NeMo and Megatron Bridge performance guides, communication overlap';
const SPLIT = any(above('tensor_model_parallel_size', 1), above('context_parallel_size', 1));

export const COMMUNICATION_RULES: readonly LintRule[] = [
  {
    id: 'tp-conn',
    severity: 'error',
    message:
      'Tensor and context parallelism before Blackwell need CUDA_DEVICE_MAX_CONNECTIONS=1, not {CUDA_DEVICE_MAX_CONNECTIONS}.',
    when: all(
      IN_MEGATRON_LM,
      SPLIT,
      off('use_megatron_fsdp'),
      off('use_torch_fsdp2'),
      off('overlap_moe_expert_parallel_comm'),
      envNot('CUDA_DEVICE_MAX_CONNECTIONS', '1'),
      capabilityBelow(10),
    ),
    fix: 'export CUDA_DEVICE_MAX_CONNECTIONS=1.',
    error: 'context parallelism require setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1',
    source: ARG,
    evidence: 'asserted',
    statements: ['guide.tp-overlap-h100-conn', 'mem.slurm-env-block'],
    fails: [
      {
        config: {
          tensor_model_parallel_size: 2,
          use_megatron_fsdp: false,
          use_torch_fsdp2: false,
          overlap_moe_expert_parallel_comm: false,
        },
        gpu: 'h100',
        framework: 'megatron-lm',
      },
      {
        config: {
          context_parallel_size: 2,
          use_megatron_fsdp: false,
          use_torch_fsdp2: false,
          overlap_moe_expert_parallel_comm: false,
        },
        env: { CUDA_DEVICE_MAX_CONNECTIONS: '8' },
        gpu: 'a100',
        framework: 'megatron-lm',
      },
    ],
    passes: [
      {
        config: { tensor_model_parallel_size: 2 },
        env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' },
        gpu: 'h100',
        framework: 'megatron-lm',
      },
      { config: { tensor_model_parallel_size: 2 }, gpu: 'b200', framework: 'megatron-lm' },
      { config: { tensor_model_parallel_size: 2, use_megatron_fsdp: true }, gpu: 'h100', framework: 'megatron-lm' },
      {
        config: { tensor_model_parallel_size: 2, overlap_moe_expert_parallel_comm: true },
        gpu: 'h100',
        framework: 'megatron-lm',
      },
    ],
    unknown: [
      {
        config: {
          tensor_model_parallel_size: 2,
          use_megatron_fsdp: false,
          use_torch_fsdp2: false,
          overlap_moe_expert_parallel_comm: false,
        },
        framework: 'megatron-lm',
      },
    ],
  },
  {
    id: 'tp-overlap',
    severity: 'error',
    message: 'tp_comm_overlap needs sequence parallelism, which TP 1 switches off.',
    when: all(
      IN_MEGATRON_LM,
      on('tp_comm_overlap'),
      any(off('sequence_parallel'), below('tensor_model_parallel_size', 2)),
    ),
    fix: 'Add --sequence-parallel with TP above 1, or drop --tp-comm-overlap.',
    error: 'overlap can happen only when sequence parallelism is enabled',
    source: ARG,
    evidence: 'asserted',
    statements: ['guide.tp-overlap'],
    fails: [
      {
        config: { tp_comm_overlap: true, sequence_parallel: false, tensor_model_parallel_size: 4 },
        framework: 'megatron-lm',
      },
      {
        config: { tp_comm_overlap: true, sequence_parallel: true, tensor_model_parallel_size: 1 },
        framework: 'megatron-lm',
      },
    ],
    passes: [
      {
        config: { tp_comm_overlap: true, sequence_parallel: true, tensor_model_parallel_size: 4 },
        framework: 'megatron-lm',
      },
      { config: { tp_comm_overlap: false, sequence_parallel: false }, framework: 'megatron-lm' },
    ],
  },
  {
    id: 'soft-tp-overlap-off',
    severity: 'warning',
    message: 'tp_comm_overlap is switched off when training starts: it needs TP above 1 and sequence parallelism.',
    when: all(
      IN_BRIDGE_OR_NEMO,
      asked('tp_comm_overlap', 'on'),
      any(off('sequence_parallel'), below('tensor_model_parallel_size', 2)),
    ),
    fix: 'Set sequence_parallel=True with TP above 1, or drop tp_comm_overlap.',
    error: null,
    source: MBO,
    evidence: 'asserted',
    statements: ['guide.tp-overlap'],
    fails: [
      {
        config: { tp_comm_overlap: true, sequence_parallel: false, tensor_model_parallel_size: 4 },
        framework: 'megatron-bridge',
      },
      {
        config: { tp_comm_overlap: true, sequence_parallel: false, tensor_model_parallel_size: 1 },
        framework: 'nemo',
      },
    ],
    passes: [
      {
        config: { tp_comm_overlap: true, sequence_parallel: true, tensor_model_parallel_size: 4 },
        framework: 'megatron-bridge',
      },
      { config: { tp_comm_overlap: false, sequence_parallel: false }, framework: 'megatron-bridge' },
    ],
  },
  {
    id: 'soft-tp-overlap-conn',
    severity: 'warning',
    message:
      'Without CUDA_DEVICE_MAX_CONNECTIONS=1 the kernels of TP communication may start only when the matrix product they should overlap with ends (it is {CUDA_DEVICE_MAX_CONNECTIONS}).',
    // Megatron-LM refuses this by itself: tp-conn.
    when: all(
      IN_BRIDGE_OR_NEMO,
      on('tp_comm_overlap'),
      above('tensor_model_parallel_size', 1),
      envNot('CUDA_DEVICE_MAX_CONNECTIONS', '1'),
      off('use_megatron_fsdp'),
      capabilityBelow(10),
    ),
    fix: 'export CUDA_DEVICE_MAX_CONNECTIONS=1.',
    error: null,
    source: GUIDES,
    evidence: 'documented',
    statements: ['guide.tp-overlap-h100-conn'],
    fails: [
      {
        config: { tp_comm_overlap: true, tensor_model_parallel_size: 4, use_megatron_fsdp: false },
        gpu: 'h100',
        framework: 'megatron-bridge',
      },
    ],
    passes: [
      {
        config: { tp_comm_overlap: true, tensor_model_parallel_size: 4, use_megatron_fsdp: false },
        env: { CUDA_DEVICE_MAX_CONNECTIONS: '1' },
        gpu: 'h100',
        framework: 'megatron-bridge',
      },
      {
        config: { tp_comm_overlap: true, tensor_model_parallel_size: 4, use_megatron_fsdp: false },
        gpu: 'gb200',
        framework: 'megatron-bridge',
      },
    ],
    unknown: [
      {
        config: { tp_comm_overlap: true, tensor_model_parallel_size: 4, use_megatron_fsdp: false },
        env: 'unknown',
        gpu: 'h100',
        framework: 'megatron-bridge',
      },
    ],
  },
  {
    id: 'tp-overlap-cga',
    severity: 'error',
    message: 'cga_size {cga_size} of a TP overlap is not in 1 … 4, or above the SMs of its communication.',
    when: all(
      told('cga_size'),
      any(
        numbers('cga_size < 1 or > 4', ['cga_size'], (size) => size! < 1 || size! > 4),
        all(
          told('num_sm'),
          numbers('cga_size > num_sm', ['cga_size', 'num_sm'], (size, sms) => size! > sms!),
        ),
      ),
    ),
    fix: 'Use 1 or 2.',
    error: null,
    source: GUIDES,
    evidence: 'documented',
    statements: ['guide.tp-overlap-cga', 'guide.tp-overlap-sm', 'guide.tp-overlap-cfg'],
    fails: [{ config: { cga_size: 8, num_sm: 16 } }, { config: { cga_size: 4, num_sm: 2 } }],
    passes: [{ config: { cga_size: 2, num_sm: 16 } }, { config: { cga_size: 2 } }, { config: { num_sm: 16 } }],
  },
  {
    id: 'soft-tp-overlap-cga',
    severity: 'note',
    message: 'A cga_size of {cga_size} rasters the SMs so that matrix products suffer.',
    when: all(
      told('cga_size'),
      numbers('cga_size of 3 or 4', ['cga_size'], (size) => size === 3 || size === 4),
    ),
    fix: 'Use 1 or 2.',
    error: null,
    source: GUIDES,
    evidence: 'documented',
    statements: ['guide.tp-overlap-cga'],
    fails: [{ config: { cga_size: 4 } }],
    passes: [{ config: { cga_size: 2 } }],
  },
  {
    id: 'soft-align-param-gather',
    severity: 'warning',
    message: 'align_param_gather has no effect without interleaved pipeline stages.',
    when: all(
      told('align_param_gather'),
      on('align_param_gather'),
      any(below('pipeline_model_parallel_size', 2), missing('virtual_pipeline_model_parallel_size')),
    ),
    fix: 'Drop it, or use PP with virtual_pipeline_model_parallel_size.',
    error: null,
    source: `${GUIDES}; ${ARG}`,
    evidence: 'documented',
    statements: ['guide.align-param-gather', 'guide.dp-overlap-pp-vpp'],
    fails: [
      { config: { align_param_gather: true, pipeline_model_parallel_size: 1 } },
      {
        config: {
          align_param_gather: true,
          pipeline_model_parallel_size: 4,
          virtual_pipeline_model_parallel_size: null,
        },
      },
    ],
    passes: [
      {
        config: { align_param_gather: true, pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 5 },
      },
      { config: { align_param_gather: false, pipeline_model_parallel_size: 1 } },
      { config: { pipeline_model_parallel_size: 1 } },
    ],
  },
  {
    id: 'soft-bucket-pp',
    severity: 'warning',
    message:
      'bucket_size {bucket_size} has no effect with PP {pipeline_model_parallel_size}: buckets are the parameters of a virtual stage.',
    when: all(told('bucket_size'), given('bucket_size'), above('pipeline_model_parallel_size', 1)),
    fix: 'Drop bucket_size (which counts elements, not bytes).',
    error: null,
    source: 'NeMo and Megatron Bridge performance guides, communication at scale',
    evidence: 'documented',
    statements: ['guide.bucket-no-pp-only', 'guide.bucket-size'],
    fails: [{ config: { bucket_size: 40000000, pipeline_model_parallel_size: 4 } }],
    passes: [
      { config: { bucket_size: 40000000, pipeline_model_parallel_size: 1 } },
      { config: { bucket_size: null, pipeline_model_parallel_size: 4 } },
      { config: { pipeline_model_parallel_size: 4 } },
    ],
  },
  {
    id: 'soft-bucket-overlap',
    severity: 'warning',
    message: 'bucket_size {bucket_size} has no effect without overlap_grad_reduce: all gradients are one bucket.',
    when: all(told('bucket_size'), given('bucket_size'), off('overlap_grad_reduce'), off('use_megatron_fsdp')),
    fix: 'Set overlap_grad_reduce=True, or drop bucket_size.',
    error: null,
    source: 'Megatron-LM megatron/core/distributed/distributed_data_parallel.py __init__',
    evidence: 'documented',
    statements: ['guide.bucket-size', 'guide.dp-overlap'],
    fails: [{ config: { bucket_size: 40000000, overlap_grad_reduce: false, use_megatron_fsdp: false } }],
    passes: [
      { config: { bucket_size: 40000000, overlap_grad_reduce: true } },
      { config: { bucket_size: null, overlap_grad_reduce: false } },
    ],
  },
  {
    id: 'do-instances',
    severity: 'error',
    message: 'num_distributed_optimizer_instances {num_distributed_optimizer_instances} must divide DP · CP.',
    when: all(
      above('num_distributed_optimizer_instances', 1),
      sized(
        '(data_parallel_size · context_parallel_size) % num_distributed_optimizer_instances ≠ 0',
        {
          num_distributed_optimizer_instances: undefined,
          data_parallel_size: undefined,
          context_parallel_size: 1,
        },
        (instances, dp, cp) => (dp! * cp!) % instances! !== 0,
      ),
    ),
    fix: 'Choose a divisor of DP · CP, at most DP.',
    error: 'Data parallel size should be divisible by partial DistOpt shard factor',
    source: 'Megatron-LM megatron/core/parallel_state.py initialize_model_parallel',
    evidence: 'asserted',
    statements: ['guide.two-stage-reduce', 'guide.partial-dp'],
    fails: [
      { config: { num_distributed_optimizer_instances: 16, data_parallel_size: 8, context_parallel_size: 1 } },
      { config: { num_distributed_optimizer_instances: 3, data_parallel_size: 8, context_parallel_size: 1 } },
    ],
    passes: [
      { config: { num_distributed_optimizer_instances: 2, data_parallel_size: 8, context_parallel_size: 1 } },
      { config: { num_distributed_optimizer_instances: 1, data_parallel_size: 7 } },
    ],
    unknown: [{ config: { num_distributed_optimizer_instances: 2 } }],
  },
  {
    id: 'soft-do-instances',
    severity: 'warning',
    message:
      'num_distributed_optimizer_instances {num_distributed_optimizer_instances} has no effect without the distributed optimizer.',
    when: all(
      above('num_distributed_optimizer_instances', 1),
      off('use_distributed_optimizer'),
      off('use_megatron_fsdp'),
    ),
    fix: 'Set use_distributed_optimizer=True, or drop it.',
    error: null,
    source: 'NeMo and Megatron Bridge performance guides, partial data parallelism',
    evidence: 'documented',
    statements: ['guide.partial-dp', 'guide.two-stage-reduce'],
    fails: [
      {
        config: {
          num_distributed_optimizer_instances: 2,
          use_distributed_optimizer: false,
          use_megatron_fsdp: false,
        },
      },
    ],
    passes: [
      { config: { num_distributed_optimizer_instances: 2, use_distributed_optimizer: true } },
      { config: { num_distributed_optimizer_instances: 1, use_distributed_optimizer: false } },
    ],
  },
];
