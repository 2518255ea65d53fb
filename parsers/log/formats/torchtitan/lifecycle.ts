import type { LineFormat } from '../contract.js';
import { bannerSetting, figureFinding, plainNumber, wordFinding } from '../system/findings.js';
import { countFinding } from '../torch/stat-metric.js';
import { GIB, memoryFigure } from '../units.js';

const PRODUCER = 'torchtitan';

export const TORCHTITAN_DEVICE: LineFormat = {
  form: 'line',
  id: 'torchtitan.device',
  title: 'Device name and memory',
  producer: PRODUCER,
  versions: '0.0.2 and later; GPU instead of CUDA before 0.1, as OLMo-core prints it, which took it over',
  source: 'torchtitan/components/metrics.py, build_device_memory_monitor; olmo_core gpu_memory_monitor.py',
  anchors: [' capacity: '],
  fields: { name: 'of the device', total: 'GiB, as the driver reports it', index: 'of the device, older form only' },
  pattern:
    /(?:CUDA|GPU|XPU|HPU|NPU) capacity: (?<name>[^()\n]{2,60}?)(?: \((?<index>\d{1,3})\))? with (?<total>\d{1,5}(?:\.\d{1,4})?)GiB memory/g,
  read({ name = '', index, total = '' }, emit) {
    const where = index === undefined ? {} : { device: Number(index) };
    emit(wordFinding('gpu.name', name, where));
    emit(memoryFigure('device_total', total, 'GiB', GIB, where));
  },
};

export const TORCHTITAN_MODEL_MEMORY: LineFormat = {
  form: 'line',
  id: 'torchtitan.model-memory',
  title: 'Memory after the model was built',
  producer: PRODUCER,
  versions: '0.0.2 and later',
  source: 'torchtitan/train.py, Trainer.__init__',
  anchors: [' memory usage for model: '],
  fields: { memory: 'GiB: peak of reserved bytes while the model was built' },
  pattern: /(?:CUDA|GPU|XPU|HPU|NPU) memory usage for model: {1,4}(?<memory>\d{1,5}(?:\.\d{1,4})?)GiB\(/g,
  read({ memory = '' }, emit) {
    emit(memoryFigure('max_reserved', memory, 'GiB', GIB, { moment: 'model built' }));
  },
};

export const TORCHTITAN_RETRIES: LineFormat = {
  form: 'line',
  id: 'torchtitan.retries',
  title: 'Allocation retries and out-of-memory errors so far',
  producer: PRODUCER,
  versions: '0.0.2 and later',
  source: 'torchtitan/components/metrics.py, DeviceMemoryMonitor.get_peak_stats',
  anchors: [' memory allocation retries', ' OOM errors thrown'],
  fields: { retries: 'num_alloc_retries of memory_stats', ooms: 'num_ooms of memory_stats' },
  pattern:
    /\b(?:(?<retries>\d{1,9}) (?:CUDA|GPU|XPU|HPU|NPU) memory allocation retries|(?<ooms>\d{1,9}) (?:CUDA|GPU|XPU|HPU|NPU) OOM errors thrown)/g,
  read({ retries, ooms }, emit) {
    if (retries !== undefined) emit(countFinding('alloc_retries', Number(retries)));
    if (ooms !== undefined) emit(countFinding('ooms', Number(ooms)));
  },
};

export const TORCHTITAN_MODEL: LineFormat = {
  form: 'line',
  id: 'torchtitan.model',
  title: 'Parameters of the model',
  producer: PRODUCER,
  versions: '0.0.2 and later',
  source: 'torchtitan/train.py, Trainer.__init__',
  anchors: [' total parameters'],
  fields: { model: 'name and flavor', parameters: 'elements of the whole model' },
  pattern: /Model (?<model>[\w.-]{1,60}(?: [\w.-]{1,40})?) size: (?<parameters>\d[\d,]{0,20}) total parameters/g,
  read({ model = '', parameters = '' }, emit) {
    emit({ ...figureFinding('parameters.total', plainNumber(parameters), 'elements'), text: model });
  },
};

export const TORCHTITAN_PEAK_FLOPS: LineFormat = {
  form: 'line',
  id: 'torchtitan.peak-flops',
  title: 'Peak FLOP/s assumed for MFU',
  producer: PRODUCER,
  versions: '0.0.2 and later',
  source: 'torchtitan/train.py',
  anchors: ['Peak FLOPS used for computing MFU: '],
  fields: { flops: 'FLOP/s of one device' },
  pattern: /Peak FLOPS used for computing MFU: (?<flops>\d{1,4}(?:\.\d{1,6})?e\+?\d{1,3})/g,
  read({ flops = '' }, emit) {
    emit(figureFinding('gpu.peak_flops', Number(flops), 'FLOP/s'));
  },
};

export const TORCHTITAN_TRAINER: LineFormat = {
  form: 'line',
  id: 'torchtitan.trainer',
  title: 'Batch sizes, sequence length and steps',
  producer: PRODUCER,
  versions: '0.1 and later',
  source: 'torchtitan/train.py, Trainer.__init__',
  anchors: ['Trainer is initialized with '],
  fields: {
    micro: 'local batch size: sequences per rank and micro-batch',
    global: 'global batch size',
    accumulation: 'gradient accumulation steps',
    sequence: 'sequence length, tokens',
    steps: 'total steps',
  },
  pattern:
    /Trainer is initialized with local batch size (?<micro>\d{1,9}), global batch size (?<global>\d{1,9})(?:, gradient accumulation steps (?<accumulation>\d{1,9}))?, sequence length (?<sequence>\d{1,12}), total steps (?<steps>\d{1,12})/g,
  read({ micro = '', global = '', accumulation, sequence = '', steps = '' }, emit) {
    emit(bannerSetting('micro_batch_size', 'local batch size', micro));
    emit(bannerSetting('global_batch_size', 'global batch size', global));
    if (accumulation !== undefined)
      emit(bannerSetting('gradient_accumulation_steps', 'gradient accumulation steps', accumulation));
    emit(bannerSetting('seq_length', 'sequence length', sequence));
    emit(bannerSetting('train_iters', 'total steps', steps));
  },
};

export const TORCHTITAN_GC: LineFormat = {
  form: 'line',
  id: 'torchtitan.gc',
  title: 'Garbage collection',
  producer: PRODUCER,
  versions: '0.0.2 and later; `took` since 2025',
  source: 'torchtitan/tools/utils.py, GarbageCollection.collect',
  anchors: [' GC collection'],
  fields: { reason: 'initial, periodic, …', seconds: 'it took' },
  pattern: /\[GC\] (?<reason>[A-Za-z][A-Za-z ]{2,60}?)\.?(?: took)? (?<seconds>\d{1,6}\.\d{1,4}) seconds/g,
  read({ reason = '', seconds = '' }, emit) {
    emit({ ...figureFinding('gc.s', Number(seconds), 's'), text: reason });
  },
};

export const TORCHTITAN_TRAINING: LineFormat = {
  form: 'line',
  id: 'torchtitan.training',
  title: 'Training starts and ends',
  producer: PRODUCER,
  versions: '0.0.2 and later',
  source: 'torchtitan/train.py, Trainer.train',
  anchors: ['Training starts at step ', 'Training completed'],
  fields: { step: 'the first step of this launch', completed: 'the training loop has ended' },
  // `Training completed. Do not forget…` is the HF Trainer's.
  pattern: /Training starts at step (?<step>\d{1,9})|(?<completed>Training completed)(?=\s{0,40}$)/g,
  read({ step }, emit) {
    if (step === undefined) emit({ row: 'phase', phase: 'finished', label: 'Training completed' });
    else emit({ row: 'phase', phase: 'training', label: 'Training starts', iteration: Number(step) });
  },
};

export const TORCHTITAN_TIMEOUT: LineFormat = {
  form: 'line',
  id: 'torchtitan.timeout',
  title: 'Time limit of collectives from the first step on',
  producer: PRODUCER,
  versions: '0.0.2 and later',
  source: 'torchtitan/distributed/utils.py, set_pg_timeouts',
  anchors: ['Synchronizing and adjusting timeout for all ProcessGroups to '],
  fields: { days: 'whole days, where it is a day or more', hours: 'hours', minutes: 'minutes', seconds: 'seconds' },
  pattern:
    /adjusting timeout for all ProcessGroups to (?:(?<days>\d{1,4}) days?, )?(?<hours>\d{1,2}):(?<minutes>\d\d):(?<seconds>\d\d)/g,
  read({ days = '0', hours = '', minutes = '', seconds = '' }, emit) {
    const total = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
    emit(figureFinding('distributed.timeout_s', total, 's'));
  },
};

export const TORCHTITAN_PASS: LineFormat = {
  form: 'line',
  id: 'torchtitan.compile-pass',
  title: 'A pass of the graph compiler was applied',
  producer: PRODUCER,
  versions: '2026 [mem]',
  source: 'torchtitan/experiments: graph passes; wording known from logs',
  anchors: ['Applied '],
  fields: { pass: 'its name; `cudagraph` means that steps are captured as CUDA graphs; their pools hold memory' },
  pattern: /\bApplied (?<pass>[a-z][\w-]{1,40}) pass\./g,
  read({ pass = '' }, emit) {
    emit(wordFinding('compile.pass', pass));
    if (pass.includes('cudagraph')) emit({ row: 'phase', phase: 'graph_capture', label: 'Applied cudagraph pass' });
  },
};
