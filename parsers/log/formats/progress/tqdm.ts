import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';

/** `15:19`, `26:02:03` in seconds. */
const seconds = (clock: string): number => clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);

/**
 * A bar counts repetitions without naming the operation: loading shards, mapping a dataset, training. So it yields no
 * iteration, and of its thousands of states only the last is read.
 */
export const TQDM_BAR: LineFormat = {
  form: 'line',
  id: 'progress.tqdm',
  title: 'A progress bar that has come to its end',
  producer: 'tqdm',
  versions: '4.x',
  source: 'tqdm/std.py, tqdm.format_meter',
  // Of bars whose blocks are drawn, and of those in ASCII.
  anchors: ['100%|█', '100%|###'],
  fields: {
    what: 'its description, where it has one',
    done: 'units done',
    unit: 'K, M, G: decimal, of bars that scale their units',
    total: 'the same number',
    elapsed: '[hours:]minutes:seconds',
  },
  pattern:
    /(?<!\d)100%\|(?<=(?:(?<what>[^|:%\n]{1,60}):[ ]{1,4})?100%\|)[█#]{1,300}\|[ ]{1,8}(?<done>\d{1,12}(?:\.\d{1,3})?)(?<unit>[kKMGT]?)\/(?<total>\d{1,12}(?:\.\d{1,3})?)[kKMGT]? \[(?<elapsed>\d{1,4}:\d\d(?::\d\d)?)</g,
  read({ what, done = '', unit = '', elapsed = '' }, emit) {
    // A figure of a description that changes (`loss: 1.25: 100%|…`) names nothing.
    const named = what !== undefined && !/^\s{0,4}[\d.]/.test(what);
    const text = `${named ? `${what.trim()}: ` : ''}${done}${unit}`;
    emit({ ...figureFinding('progress.elapsed_s', seconds(elapsed), 's'), text });
  },
};

export const DIFFUSERS_STEPS: LineFormat = {
  form: 'line',
  id: 'progress.diffusers',
  title: 'Progress bar of the training steps',
  producer: 'Hugging Face Diffusers examples',
  versions: '0.3 and later',
  source: 'diffusers/examples/**/train_*.py, main',
  anchors: [', step_loss=', '[step_loss='],
  fields: {
    done: 'optimizer steps',
    total: 'max_train_steps',
    rest: '`lr`, `step_loss` of the micro-batch: three significant digits',
  },
  pattern:
    /Steps:[ ]{1,4}\d{1,3}%\|[^|\n]{0,300}\|[ ]{1,8}(?<done>\d{1,12})\/(?<total>\d{1,12}) \[(?<rest>[^[\]\n]{0,500}step_loss=[^[\]\n]{0,200})/g,
  read({ done = '', total = '', rest = '' }, emit) {
    const iteration = Number(done);
    if (iteration === 0) return;
    const figure = (pattern: RegExp): number | undefined => {
      const value = Number(pattern.exec(rest)?.[1] ?? Number.NaN);
      return Number.isFinite(value) ? value : undefined;
    };
    emit({
      row: 'iteration',
      iteration,
      target: Number(total),
      loss: figure(/\bstep_loss=([\d.e+-]{1,16})/),
      learningRate: figure(/\blr=([\d.e+-]{1,16})/),
    });
  },
};
