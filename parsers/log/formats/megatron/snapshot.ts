import type { LineFormat } from '../contract.js';

export const SNAPSHOT_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron.memory-snapshot',
    title: 'A memory snapshot is recorded or was written',
    producer: 'Megatron Bridge',
    versions: 'Megatron Bridge ≥ 0.2, Megatron-LM, NeMo',
    source:
      'bridge/training/utils/train_utils.py; bridge/training/profiling.py; nemo/lightning/pytorch/callbacks/memory_profiler.py',
    anchors: ['Memory history recording enabled', ' memory snapshot to ', 'Finished writing memory profile snapshot: '],
    fields: {
      recording: 'rank that records',
      planned: 'path it will be written to',
      oom: 'rank that ran out of memory and wrote a snapshot',
      saved: 'path it was written to',
      finished: 'the same, of NeMo',
    },
    pattern:
      /Memory history recording enabled (?:\(|on )rank (?<recording>\d{1,7})\)?; snapshots? will be written to '(?<planned>[^'\n]{1,500})'|(?:\[OOM\] rank (?<oom>\d{1,7}) saved|Saved) memory snapshot to (?<saved>[^\s']{1,500})|Finished writing memory profile snapshot: (?<finished>[^\s']{1,500})/g,
    read({ recording, planned, oom, saved, finished }, emit) {
      if (planned !== undefined) {
        emit({
          row: 'value',
          name: 'snapshot.recording',
          value: null,
          unit: null,
          text: planned,
          rank: Number(recording),
        });
      } else if (oom !== undefined) {
        emit({ row: 'value', name: 'snapshot.saved_on_oom', value: null, unit: null, text: saved, rank: Number(oom) });
      } else emit({ row: 'value', name: 'snapshot.saved', value: null, unit: null, text: saved ?? finished });
    },
  },
];
