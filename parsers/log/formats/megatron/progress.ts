import type { LineCode } from '../contract.js';

const PATTERNS = {
  iteration: /\tIteration: (\d{1,12})/,
  job: /\tJob throughput: (\d{1,9}(?:\.\d{1,3})?)/,
  cumulative: /\tCumulative throughput: (\d{1,9}(?:\.\d{1,3})?)/,
  flops: /\tFloating-point operations: (\d{1,3}(?:\.\d{1,3})?e[+-]?\d{1,3})/,
  tokens: /\tTokens \(in billions\): (\d{1,9}(?:\.\d{1,3})?)/,
};

export const PROGRESS_LINES: readonly LineCode[] = [
  {
    id: 'megatron-lm.progress',
    read({ job = '', gpus = '', what = '', rest = '' }, emit) {
      const number = (pattern: RegExp): number | undefined => {
        const text = pattern.exec(rest)?.[1];
        return text === undefined ? undefined : Number(text);
      };
      const iteration = number(PATTERNS.iteration);
      const more = iteration === undefined ? {} : { iteration };
      if (what.startsWith('Starting job')) {
        emit({ row: 'launch', label: 'progress.txt: Starting job' });
        emit({ row: 'value', name: 'progress.job', value: null, unit: null, text: job });
        emit({ row: 'value', name: 'layout.world_size', value: Number(gpus), unit: 'count' });
      } else if (iteration !== undefined) {
        const name = what.startsWith('Saving async') ? 'checkpoint.scheduled' : 'checkpoint.saved';
        emit({ row: 'value', name, value: iteration, unit: 'iteration', ...more });
      } else emit({ row: 'value', name: 'progress.entry', value: null, unit: null, text: what });
      const figures = [
        ['progress.job_throughput', number(PATTERNS.job), 'TFLOP/s/GPU'],
        ['progress.cumulative_throughput', number(PATTERNS.cumulative), 'TFLOP/s/GPU'],
        ['progress.floating_point_operations', number(PATTERNS.flops), 'FLOP'],
      ] as const;
      for (const [name, value, unit] of figures) {
        if (value !== undefined) emit({ row: 'value', name, value, unit, ...more });
      }
      const tokens = number(PATTERNS.tokens);
      if (tokens !== undefined) {
        emit({ row: 'value', name: 'progress.tokens', value: Math.round(tokens * 1e9), unit: 'tokens', ...more });
      }
    },
  },
];
