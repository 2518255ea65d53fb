/**
 * One question to every verb, on a small sample run: the exit code, the schema of the JSON, and a text without holes.
 * The long tests of single verbs are in the full suite.
 */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs/index.js';
import { repoRoot } from '../store/scratch.js';
import { buildCli, cliOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const RUN = 'capacity';
const SAMPLE = join(repoRoot, 'samples', RUN);
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
  export: [[RUN, '--as', 'folded', '--output', 'stacks.folded', '--force']],
  redact: [[SAMPLE, '-o', 'copy', '--force']],
  runs: [[]],
  sources: [[]],
  sql: [['SELECT 1 AS one']],
};
/** Verbs that read standard input or need a golden run; each has a test of its own in this suite. */
const ELSEWHERE = ['classify', 'explain-stack', 'triage'];

const cwd = temporaryDirectory();
const cli = cliOf(buildCli().script);

beforeAll(() => {
  cli.expect(0, ['ingest', SAMPLE], { cwd });
  cli.expect(0, ['golden', 'add', RUN, '--name', 'base', '--force'], { cwd });
});

describe('a question to every verb', () => {
  it('leaves none out', () => {
    expect([...Object.keys(QUESTIONS), ...ELSEWHERE].sort()).toEqual(Object.keys(VERBS).sort());
  });

  it.each(Object.keys(QUESTIONS))('%s answers as JSON and as text', (verb) => {
    const [args, exitCode = 0] = QUESTIONS[verb]!;
    const json = cli.expect(exitCode, [verb, ...args, '--json'], { cwd });
    if (exitCode === 2) return expect(json.stderr).toMatch(/MBF\d{4}/);
    expect(json.json<{ schema: string }>().schema).toMatch(
      new RegExp(`^mbforensics/${verb === 'state' ? 'at' : verb}(?:-list)?@1$`),
    );
    const { stdout } = cli.expect(exitCode, [verb, ...args], { cwd });
    expect(stdout.length).toBeGreaterThan(0);
    if (verb !== 'formats') expect(stdout).not.toMatch(/undefined|NaN|\[object/);
  });
});
