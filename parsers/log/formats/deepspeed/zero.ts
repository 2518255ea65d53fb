import type { LineFormat } from '../contract.js';
import { bannerSetting, figureFinding, plainNumber } from '../system/findings.js';
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
    if (bucket !== undefined) {
      const kind = bucket.toLowerCase();
      emit(figureFinding(`zero.${kind}_bucket`, plainNumber(elements), 'elements'));
      emit(bannerSetting(`zero_${kind}_bucket_size`, `${bucket} bucket size`, String(plainNumber(elements))));
    }
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
};
