/**
 * One question to every verb, each in a process of its own, on a small sample run: the exit code, the streams, and the
 * schema of the JSON. What they print is compared in `test/screens`.
 */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs/index.js';
import { expectValid } from '../screens/schemas.js';
import { buildCli, cliOf, wordsOf } from '../support/cli.js';
import { copyStore, samplePath } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const RUN = 'capacity';
const SAMPLE = samplePath(RUN);
/** Verb → its arguments, and its exit code if that is not 0. */
const QUESTIONS: Readonly<Record<string, readonly [args: readonly string[], exitCode?: number]>> = {
  diagnose: [[]],
  advise: [[]],
  show: [[]],
  lint: [['--run', RUN]],
  snapshot: [[]],
  snapshots: [[]],
  peak: [[]],
  attribute: [[]],
  state: [['--at', 'oom']],
  doctor: [[]],
  report: [['-o', 'page.html']],
  completion: [['bash']],
  allocations: [[]],
  timeline: [[]],
  log: [[]],
  iterations: [[]],
  memory: [[]],
  config: [[]],
  env: [[]],
  outside: [[]],
  nsys: [[], 2],
  profile: [[], 2],
  diff: [[RUN, RUN]],
  compare: [[RUN, '--golden', 'base'], 3],
  gate: [[RUN, '--baseline', 'gate.json', '--update', '--force']],
  golden: [['list']],
  history: [[]],
  'verify-fix': [[RUN, RUN]],
  bisect: [['report'], 2],
  replay: [[]],
  whatif: [['--set', 'expandable_segments:True']],
  estimate: [[]],
  residual: [[]],
  explain: [['offload-pp']],
  knobs: [[]],
  rules: [[]],
  formats: [[]],
  ingest: [[SAMPLE]],
  lake: [['add', SAMPLE, '--to', 'lake', '--quiet']],
  export: [[RUN, '--as', 'folded', '--output', 'stacks.folded', '--force']],
  redact: [[join(SAMPLE, 'launch.sbatch'), '-o', 'copy', '--force']],
  runs: [[]],
  sources: [[]],
  sql: [['SELECT 1 AS one']],
};
/** Verbs that read standard input or need a golden run; each has a test of its own in this suite. */
const ELSEWHERE = ['classify', 'explain-stack', 'triage'];

const cwd = temporaryDirectory();
const cli = cliOf(buildCli().script);

beforeAll(() => {
  copyStore(join(cwd, 'mbforensics.duckdb'), SAMPLE);
  buildCli().expect(0, ['golden', 'add', RUN, '--name', 'base', '--force'], { cwd });
});

describe('a question to every verb', () => {
  it('leaves none out', () => {
    expect([...Object.keys(QUESTIONS), ...ELSEWHERE].sort()).toEqual(Object.keys(VERBS).sort());
  });

  it.each(Object.keys(QUESTIONS))('%s answers', (verb) => {
    const [args, exitCode = 0] = QUESTIONS[verb]!;
    const { stderr, json } = cli.expect(exitCode, [...wordsOf(verb), ...args, '--json=full'], { cwd });
    expectValid(json(), verb);
    if (exitCode === 2) return expect(stderr).toMatch(/MBF\d{4}/);
    expect(stderr).toBe('');
    expect(json<{ schema: string }>().schema).toMatch(
      new RegExp(`^mbforensics/${verb === 'state' ? 'at' : verb}(?:-(?:list|add))?@1$`),
    );
  });
});
