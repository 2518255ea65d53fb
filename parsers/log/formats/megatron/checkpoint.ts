import type { LineFormat } from '../contract.js';
import { emitLayout } from '../layout-findings.js';

export const CHECKPOINT_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-lm.checkpoint-save',
    title: 'A checkpoint is being saved, or was',
    producer: 'Megatron-LM',
    versions: 'all, Megatron Bridge; `from iteration` since core 0.8',
    source: 'megatron/training/checkpointing.py: save_checkpoint',
    anchors: ['saving checkpoint at iteration', 'successfully saved checkpoint', 'scheduled an async checkpoint save'],
    fields: {
      saving: 'iteration of the checkpoint, when it begins',
      saved: 'the same, when it is done',
      async: 'the same, when it is handed to another process',
      path: 'where to',
      format: 'torch, torch_dist, fsdp_dtensor, zarr, …',
      tp: 'tensor parallel size, behind the 1-based rank that wrote',
      pp: 'pipeline parallel size, likewise',
    },
    pattern:
      /(?:saving checkpoint at iteration[ ]{1,10}(?<saving>\d{1,12})|successfully saved checkpoint (?:from|at) iteration[ ]{1,10}(?<saved>\d{1,12})|scheduled an async checkpoint save at iteration[ ]{1,10}(?<async>\d{1,12})) to (?<path>[^\s[\]]{1,500})(?: in (?<format>\w{1,20}) format)?(?: \[ t \d{1,4}\/(?<tp>\d{1,4}), p \d{1,4}\/(?<pp>\d{1,4}) \])?/g,
    read({ saving, saved, async, path, format, tp, pp }, emit) {
      if (saving !== undefined) {
        const iteration = Number(saving);
        emit({ row: 'phase', phase: 'checkpoint_save', label: 'saving checkpoint', iteration });
        emit({
          row: 'value',
          name: 'checkpoint.saving',
          value: iteration,
          unit: 'iteration',
          text: format === undefined ? path : `${path} (${format})`,
          iteration,
        });
        return;
      }
      const iteration = Number(saved ?? async);
      const name = saved === undefined ? 'checkpoint.scheduled' : 'checkpoint.saved';
      emit({ row: 'value', name, value: iteration, unit: 'iteration', text: path, iteration });
      if (tp === undefined || pp === undefined) return;
      emitLayout('tensor_model_parallel_size', 't', tp, emit);
      emitLayout('pipeline_model_parallel_size', 'p', pp, emit);
    },
  },
  {
    form: 'line',
    id: 'megatron-lm.checkpoint-load',
    title: 'A checkpoint is being loaded, was, or is missing',
    producer: 'Megatron-LM',
    versions: 'all, Megatron Bridge',
    source: 'megatron/training/checkpointing.py: load_checkpoint, _load_base_checkpoint',
    anchors: ['loaded checkpoint from', 'checkpoint from ', 'will not load any checkpoints'],
    fields: {
      kind: 'distributed, release, fsdp_dtensor, …',
      loading: 'where from, when it begins',
      at: 'iteration of the checkpoint that is being loaded',
      loaded: 'where from, when it is done',
      iteration: 'iteration it continues from',
      none: 'there is none: weights are random',
    },
    pattern:
      /\bloading (?:(?<kind>[\w-]{1,24}) )?checkpoint from (?<loading>[^\s[\]]{1,500})(?: at iteration (?<at>\d{1,12}))?|successfully loaded checkpoint from (?<loaded>[^\s[\]]{1,500})(?: \[[^\]\n]{1,60}\])?(?: at iteration (?<iteration>\d{1,12}))?|(?<none>will not load any checkpoints)/g,
    read({ kind, loading, at, loaded, iteration, none }, emit) {
      if (none !== undefined) {
        emit({ row: 'phase', phase: 'checkpoint_load', label: 'no checkpoint to load' });
        return;
      }
      const step = at ?? iteration;
      const more = step === undefined ? {} : { iteration: Number(step) };
      if (loading !== undefined) {
        const label = `loading ${kind === undefined ? '' : `${kind} `}checkpoint`;
        emit({ row: 'phase', phase: 'checkpoint_load', label, ...more });
        return;
      }
      emit({
        row: 'value',
        name: 'checkpoint.loaded',
        value: step === undefined ? null : Number(step),
        unit: step === undefined ? null : 'iteration',
        text: loaded,
        ...more,
      });
    },
  },
];
