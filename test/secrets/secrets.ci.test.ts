import { wordsOf } from '../support/cli.js';
import { sampled } from '../support/level.js';
import { testPlantedRun } from './planted-run.js';
import { KINDS } from './planted-secrets.js';

testPlantedRun({
  seed: 2,
  kinds: KINDS,
  verbs: [
    ...['diagnose', 'config', 'env', 'log', 'memory', 'iterations', 'sources', 'runs', 'advise', 'nsys'].flatMap(
      (verb) => [wordsOf(verb), [...wordsOf(verb), '--json=full']],
    ),
    ...['outside', 'profile', 'snapshots', 'timeline', 'allocations', 'state', 'peak', 'attribute'].map(wordsOf),
    ...[1, 2, 3, 4, 5].map((n) => ['show', `E${n}`]),
    ['show', 'E1', '--json=full'],
    ['diagnose', '--markdown', '-'],
    ['report', '-o', 'OUT/report.html', '--force'],
    ...sampled(['parquet', 'csv'], 2).map((format) => [
      'export',
      '--table',
      'all',
      '--as',
      format,
      '-o',
      `OUT/${format}`,
    ]),
    ['RUN'],
    ['log', 'config', 'RUN'],
    ['log', 'env', 'RUN', '--json=full'],
    ['explain', 'text', 'RUN/train.log', '--json=full'],
    ['explain', 'formats', 'RUN/train.log', '--json=full'],
    ['explain', 'formats', 'RUN/launch.sbatch'],
    ['lint', 'RUN/config.json', '--json=full'],
  ],
});
