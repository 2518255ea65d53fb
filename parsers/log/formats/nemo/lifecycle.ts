import type { LineFormat } from '../contract.js';
import { emitLayout } from '../layout-findings.js';
import { snake } from '../megatron/theory.js';

export const NEMO_LIFECYCLE_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'lightning.distributed',
    title: 'A process joins the group',
    producer: 'NeMo',
    versions: 'all, and PyTorch Lightning ≥ 1.0',
    source: 'lightning/fabric/utilities/distributed.py: _init_dist_connection',
    anchors: ['Initializing distributed: GLOBAL_RANK: ', 'All distributed processes registered. Starting with '],
    fields: { rank: 'global rank', world: 'world size', processes: 'world size, once all have joined' },
    pattern:
      /Initializing distributed: GLOBAL_RANK: (?<rank>\d{1,7}), MEMBER: \d{1,7}\/(?<world>\d{1,7})|All distributed processes registered\. Starting with (?<processes>\d{1,7}) processes/g,
    read({ rank, world, processes }, emit) {
      if (rank !== undefined) {
        emit({ row: 'launch', label: 'Initializing distributed', writer: rank });
        emit({ row: 'value', name: 'process.rank', value: Number(rank), unit: null, rank: Number(rank) });
        emitLayout('world_size', 'MEMBER', world ?? '', emit);
      } else emitLayout('world_size', 'processes', processes ?? '', emit);
    },
  },
  {
    form: 'line',
    id: 'nemo.rank-position',
    title: 'Position of rank 0 in the parallel groups, and the ranks of all groups',
    producer: 'NeMo',
    versions: 'all',
    source:
      'nemo/collections/nlp/modules/common/megatron/megatron_init.py; nemo/lightning/_strategy_lib.py: init_parallel_ranks',
    anchors: [' parallel rank', ' group ranks', ' embedding rank: '],
    fields: {
      rank: 'global rank',
      axis: 'tensor model parallel, pipeline model parallel, context parallel, data parallel, embedding',
      index: 'rank along it',
      all: 'axis of the listed groups',
      combined: 'data-parallel groups that take in the context-parallel ranks',
      groups: 'ranks of every group; left out where a line is too long to hold them all',
    },
    pattern:
      /Ranks? (?<rank>\d{1,7}) has (?<axis>[a-z][a-z -]{1,40}?) rank:? (?<index>\d{1,7})|All (?<all>[a-z][a-z -]{1,40}?) group ranks(?<combined> with context parallel combined)?: (?<groups>\[\[[\d, [\]]{0,7900}\]\])/g,
    read({ rank, axis, index, all, combined, groups }, emit) {
      if (axis !== undefined) {
        const name = `layout.${snake(axis)}_rank`;
        emit({ row: 'value', name, value: Number(index), unit: null, rank: Number(rank) });
        return;
      }
      const name = `layout.${snake(all ?? '')}_groups${combined === undefined ? '' : '_with_context'}`;
      emit({ row: 'value', name, value: null, unit: null, text: groups });
    },
  },
  {
    form: 'line',
    id: 'nemo.phase',
    title: 'Validation, loading and saving of checkpoints',
    producer: 'NeMo',
    versions: 'all',
    source: 'nemo/lightning/pytorch/callbacks/progress_printer.py; megatron_base_model; lightning ModelCheckpoint',
    anchors: [
      'Validation: iteration ',
      'Sanity checking Validation',
      'Sanity Checking DataLoader',
      'Loading distributed checkpoint with ',
      'was successfully restored from ',
      'Restoration will occur within ',
      ', saving model to ',
      'Async checkpoint save for step ',
      'Scheduled async checkpoint save for ',
    ],
    fields: {
      validation: 'iteration of a validation, and the last one',
      sanity: 'validation before training',
      loading: 'strategy a checkpoint is loaded with',
      restored: 'directory it was loaded from',
      step: 'global step, 0-based, at which one is saved',
      saving: 'directory it is saved to',
      finalized: 'step of a checkpoint that another process has finished',
    },
    pattern:
      /Validation: iteration (?<validation>\d{1,12}\/\d{1,12})|(?<sanity>Sanity checking Validation|Sanity Checking DataLoader)|Loading distributed checkpoint with (?<loading>\w{1,80})|was successfully restored from (?<restored>[^\s]{1,500}?)\.?(?=\s|$)|global step (?<step>\d{1,12}):[^\n]{1,200}?, saving model to '(?<saving>[^'\n]{1,500})'|Async checkpoint save for step (?<finalized>\d{1,12}) \([^\n)]{1,500}\) finalized successfully/g,
    read({ validation, sanity, loading, restored, step, saving, finalized }, emit) {
      if (validation !== undefined) emit({ row: 'phase', phase: 'eval', label: `validation: iteration ${validation}` });
      else if (sanity !== undefined) emit({ row: 'phase', phase: 'eval', label: sanity });
      else if (loading !== undefined) {
        emit({ row: 'phase', phase: 'checkpoint_load', label: `loading distributed checkpoint with ${loading}` });
      } else if (restored !== undefined) {
        emit({ row: 'value', name: 'checkpoint.loaded', value: null, unit: null, text: restored });
      } else if (saving !== undefined) {
        const iteration = Number(step) + 1;
        emit({ row: 'phase', phase: 'checkpoint_save', label: 'saving model', iteration });
        emit({ row: 'value', name: 'checkpoint.saving', value: iteration, unit: 'iteration', text: saving, iteration });
      } else {
        emit({
          row: 'value',
          name: 'checkpoint.saved',
          value: Number(finalized),
          unit: 'iteration',
          iteration: Number(finalized),
        });
      }
    },
  },
  {
    form: 'line',
    id: 'nemo.garbage-collection',
    title: 'Garbage collection, which explains a slow step now and then',
    producer: 'NeMo',
    versions: '2.0 and later',
    source: 'nemo/lightning/pytorch/callbacks/garbage_collection.py',
    anchors: ['Running garbage collection at '],
    fields: { loop: 'train or validation', step: 'steps done' },
    pattern: /Running garbage collection at (?<loop>train|validation) (?:global_step|step): (?<step>\d{1,12})/g,
    read({ loop, step }, emit) {
      emit({
        row: 'value',
        name: `gc.${loop}`,
        value: Number(step),
        unit: 'iteration',
        ...(loop === 'train' ? { iteration: Number(step) } : {}),
      });
    },
  },
  {
    form: 'line',
    id: 'nemo.flops',
    title: 'Throughput over the whole training, printed at its end',
    producer: 'NeMo',
    versions: '1.23 and later with FLOPsMeasurementCallback [mem]',
    source: 'nemo/collections/common/metrics/perf_metrics.py; nemo/lightning/pytorch/callbacks/flops_callback.py',
    anchors: ['TFLOPs per sec per GPU='],
    fields: { tflops: 'model TFLOP/s/GPU' },
    pattern: /TFLOPs per sec per GPU=(?<tflops>\d{1,9}(?:\.\d{1,6})?)/g,
    read({ tflops }, emit) {
      emit({ row: 'value', name: 'throughput.tflops_per_gpu', value: Number(tflops), unit: 'TFLOP/s/GPU' });
    },
  },
];
