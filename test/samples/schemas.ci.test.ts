/** What every verb prints of every sample, against the schema files. `test/cli/every-verb.test.ts` has one sample. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectValid } from '../screens/schemas.js';
import { repoRoot } from '../store/scratch.js';
import { buildCli, wordsOf } from '../support/cli.js';
import { sampled } from '../support/level.js';
import { samplePath, sampleStore } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const cli = buildCli();
const cwd = temporaryDirectory();
const SAMPLES = readdirSync(join(repoRoot, 'samples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !['generate', 'record'].includes(entry.name))
  .map(({ name }) => name);

/** Verbs that answer about a run, with the arguments that make them print all they have. */
const QUESTIONS: readonly string[] = [
  ...[
    'diagnose',
    'show',
    'show accounting',
    'show tests',
    'show captures',
    'show E1',
    'advise',
    'snapshot',
    'snapshots',
  ],
  ...[
    'peak',
    'peak --grouping bridge',
    'peak --grouping mosaic',
    'peak --grouping memory-viz',
    'attribute',
    'state --at oom',
    'state --map',
    'allocations',
    'timeline --components',
  ],
  ...[
    'log',
    'iterations',
    'memory',
    'config',
    'env',
    'outside',
    'nsys',
    'nsys --curve',
    'profile',
    'history',
    'replay',
  ],
  ...[
    'whatif --set expandable_segments:True',
    'estimate',
    'estimate --model megatron-lm',
    'residual',
    'runs',
    'sources',
  ],
];

describe('every document of a sample is as its schema', () => {
  it.each(sampled(SAMPLES, 3))('%s', (sample) => {
    for (const question of QUESTIONS) {
      const [verb = '', ...args] = question.split(' ');
      for (const form of ['--json=full', '--json']) {
        const answer = cli.run([...wordsOf(verb), ...args, '--db', sampleStore(sample), form], { cwd });
        // Of a run without what the verb reads, the document is an error.
        if (answer.stdout !== '') expectValid(answer.json(), `${question} ${form} of ${sample}`);
        if (question === 'diagnose' && form === '--json') expect(answer.stdout.length).toBeLessThanOrEqual(8_000);
      }
    }
    for (const form of ['diagnose', 'log', 'ingest', 'doctor']) {
      const args = form === 'ingest' ? ['--db', join(cwd, `${sample}.duckdb`)] : [];
      expectValid(cli.run([form, samplePath(sample), ...args, '--json=full'], { cwd }).json(), `${form} ${sample}`);
    }
  });
});
