import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';

const PHASES: Readonly<Record<string, 'checkpoint_save' | 'checkpoint_load'>> = {
  Saving: 'checkpoint_save',
  Loading: 'checkpoint_load',
};

export const TORCHTITAN_CHECKPOINT: LineFormat = {
  form: 'line',
  id: 'torchtitan.checkpoint',
  title: 'Checkpoints saved and loaded, and how long it took',
  producer: 'torchtitan',
  versions: '0.0.2 and later; no blank before `in` until 2025; OLMo-core loads with other words and is not meant here',
  source: 'torchtitan/components/checkpoint.py, CheckpointManager.save and load',
  anchors: [
    'Saving the checkpoint',
    'Saving a full checkpoint',
    'Saving a model only checkpoint',
    'Saving a model weights only checkpoint',
    'Loading the checkpoint ',
    'Finished saving the checkpoint',
    'Finished loading the checkpoint',
  ],
  fields: {
    begins: 'Saving or Loading',
    step: 'training step of it, where the line has it',
    ends: 'saving or loading',
    seconds: 'it took this rank; of an asynchronous one the copy to host memory only',
  },
  pattern:
    /\b(?<begins>Saving|Loading) (?:the|a full|a model only|a model weights only) checkpoint\b(?:[^\n]{0,200}? (?:at|from) (?:last )?step,? ?(?:step )?(?<step>\d{1,9}))?|Finished (?<ends>saving|loading) the checkpoint(?: \(or staging if async is enabled\))? ?in (?<seconds>\d{1,6}\.\d{1,3}) seconds/g,
  read({ begins, step, ends, seconds = '' }, emit) {
    const where = step === undefined ? {} : { iteration: Number(step) };
    if (begins !== undefined)
      emit({ row: 'phase', phase: PHASES[begins]!, label: `${begins} the checkpoint`, ...where });
    else emit(figureFinding(ends === 'saving' ? 'checkpoint.save_s' : 'checkpoint.load_s', Number(seconds), 's'));
  },
};
