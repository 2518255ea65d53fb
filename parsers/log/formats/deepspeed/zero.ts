import type { LineFormat } from '../contract.js';
import { figureFinding, plainNumber } from '../system/findings.js';
import { countFinding } from '../torch/stat-metric.js';
import { GIB } from '../units.js';

const PRODUCER = 'DeepSpeed';

export const DEEPSPEED_CACHE_FLUSHES: LineFormat = {
  form: 'line',
  id: 'deepspeed.cache-flushes',
  title: 'The allocator had to flush its cache',
  producer: PRODUCER,
  versions: '0.4.5 and later, ZeRO stage 3; SageMaker prints the same',
  source: 'deepspeed/runtime/zero/stage3.py, step',
  anchors: [' allocator cache flushes since last step'],
  fields: { flushes: 'growth of num_alloc_retries since the warning before: a cudaMalloc failed that often' },
  pattern: /\b(?<flushes>\d{1,9}) pytorch allocator cache flushes since last step/g,
  read({ flushes = '' }, emit) {
    emit(countFinding('alloc_retries', Number(flushes), { moment: 'since the step before' }));
  },
  samples: [
    {
      text: '2 pytorch allocator cache flushes since last step. this happens when there is high memory pressure',
      rows: [countFinding('alloc_retries', 2, { moment: 'since the step before' })],
    },
  ],
};

const BILLIONS: Readonly<Record<string, number>> = { K: 1e3, M: 1e6, B: 1e9 };

export const DEEPSPEED_ZERO: LineFormat = {
  form: 'line',
  id: 'deepspeed.zero',
  title: 'Buckets and partitions of ZeRO',
  producer: PRODUCER,
  versions: '0.3 and later; global rank 0',
  source:
    'deepspeed/runtime/zero/stage_1_and_2.py and stage3.py, __init__; parameter_offload.py; partition_parameters.py',
  anchors: [
    'Reduce bucket size ',
    'Allgather bucket size ',
    'FP32 Partitions: count=',
    'Largest partitioned param numel = ',
    'Total persistent parameters: ',
    'finished initializing model ',
    'FP16 params swapping is ',
  ],
  fields: {
    bucket: 'Reduce or Allgather',
    elements: 'size of that bucket',
    where: 'In-Memory or Swappable (to NVMe)',
    count: 'sub-groups of this rank',
    size: 'GiB, printed as GB: FP32 master copy of this rank, on the host where the optimizer is offloaded',
    largest: 'elements of the largest sub-group of this rank',
    persistent: 'elements too small to be partitioned, resident on every rank',
    swapping: 'half-precision parameters move to NVMe',
    resident: 'elements of them that may stay on the host meanwhile',
    billions: 'elements of the model, three digits',
    scale: 'K, M or B of it',
  },
  pattern:
    /(?<bucket>Reduce|Allgather) bucket size (?<elements>\d[\d,]{0,18}(?:\.\d{1,4})?)|(?<where>In-Memory|Swappable) FP32 Partitions: count=(?<count>\d{1,9}) size= {0,5}(?<size>\d{1,9}\.\d{1,4}) GB|Largest partitioned param numel = (?<largest>\d{1,15})|Total persistent parameters: (?<persistent>\d{1,15}) in|FP16 params swapping is (?<swapping>True|False), Max params in CPU is (?<resident>\d{1,15}(?:\.\d{1,2})?(?:e\+\d{1,2})?)|finished initializing model (?:with|- num_params = \d{1,9}, num_elems =) (?<billions>\d{1,9}\.\d{1,4})(?<scale>[KMB])/g,
  read(
    {
      bucket,
      elements = '',
      where,
      count = '',
      size = '',
      largest,
      persistent,
      swapping,
      resident,
      billions,
      scale = 'B',
    },
    emit,
  ) {
    if (bucket !== undefined)
      emit(figureFinding(`zero.${bucket.toLowerCase()}_bucket`, plainNumber(elements), 'elements'));
    if (where !== undefined) {
      const name = `zero.fp32_partitions_${where === 'Swappable' ? 'swappable' : 'in_memory'}`;
      emit({
        ...figureFinding(name, Math.round(Number(size) * GIB), 'bytes'),
        text: `${size} GB in ${count} sub-groups`,
      });
    }
    if (largest !== undefined) emit(figureFinding('zero.largest_partition', Number(largest), 'elements'));
    if (persistent !== undefined) emit(figureFinding('zero.persistent_parameters', Number(persistent), 'elements'));
    if (swapping !== undefined)
      emit({ ...figureFinding('zero.params_in_cpu', Number(resident), 'elements'), text: `swapping ${swapping}` });
    if (billions !== undefined)
      emit({
        ...figureFinding('parameters.total', Math.round(Number(billions) * (BILLIONS[scale] ?? 1)), 'elements'),
        text: `${billions}${scale}`,
      });
  },
  samples: [
    { text: 'Reduce bucket size 500,000,000', rows: [figureFinding('zero.reduce_bucket', 5e8, 'elements')] },
    {
      text: 'In-Memory FP32 Partitions: count=2 size= 4.50 GB',
      rows: [
        {
          row: 'value',
          name: 'zero.fp32_partitions_in_memory',
          value: 4.5 * GIB,
          unit: 'bytes',
          text: '4.50 GB in 2 sub-groups',
        },
      ],
    },
    {
      text: 'Parameter Offload: Total persistent parameters: 266240 in 65 params',
      rows: [figureFinding('zero.persistent_parameters', 266_240, 'elements')],
    },
    {
      text: 'finished initializing model - num_params = 339, num_elems = 1.78B',
      rows: [{ row: 'value', name: 'parameters.total', value: 1.78e9, unit: 'elements', text: '1.78B' }],
    },
    {
      text: 'FP16 params swapping is False, Max params in CPU is 1000000000.0',
      rows: [{ ...figureFinding('zero.params_in_cpu', 1e9, 'elements'), text: 'swapping False' }],
    },
    {
      text: 'Largest partitioned param numel = 1200000000',
      rows: [figureFinding('zero.largest_partition', 1.2e9, 'elements')],
    },
  ],
};
