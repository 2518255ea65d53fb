import { describeProfilerMemory } from '../../../findings/run/profiler-memory.js';
import { MbfError } from '../../../model/errors.js';
import { profilerDocument } from '../../../report/run/profiler-document.js';
import { defineVerb } from '../../define-verb.js';
import { between, option, RUN } from '../../options.js';

const MOST_POINTS = 100_000;

export const verb = defineVerb({
  name: 'profile',
  operands: { run: RUN },
  options: {
    points: option(
      '--points <n>',
      'stretches of time to show, each by its largest total; 0 = 100,000',
      between(0, MOST_POINTS),
      '16',
    ),
  },
  async ask({ run, points }, session) {
    const target = await session.target(run);
    const result = await describeProfilerMemory(target.store, target, points || MOST_POINTS);
    if (result.timelines.length > 0) return result;
    throw new MbfError(
      'MBF1002',
      `run ${target.run} has no memory timeline of torch.profiler: prof.export_memory_timeline("FILE.raw.json.gz") writes one`,
    );
  },
  document: profilerDocument,
});
