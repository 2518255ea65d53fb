/** The judge of `git bisect run` ends with 255 for whatever gives no judgement: git would take 1 to 127 for one. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { repoRoot } from '../store/scratch.js';
import { asker } from '../support/ask.js';
import { environment } from '../support/cli.js';
import { oomLines, type TrainingLog, writeTraining } from '../support/training-log.js';

const PEAKS = [{ rank: 0, first: 50_000, later: 57_000 }];
const BASE: TrainingLog = { iterations: 12, peaks: PEAKS, stepMs: (i) => (i === 1 ? 9000 : 1000 + (i % 5)) };
const { cli, cwd, options, mbf } = asker();
let number = 0;
const write = (log: TrainingLog): string => {
  number += 1;
  return writeTraining(cwd, `run-${number}`, { ...BASE, ...log });
};

describe('everything else is 255, at which git stops', () => {
  beforeAll(() => {
    writeTraining(cwd, 'base', BASE);
    mbf('golden', 'add', 'base', '--name', 'base');
  });
  const expect255 = (args: readonly string[], more: Readonly<Record<string, string>> = {}): string => {
    const answer = cli.run(args, { cwd, env: { ...options.env, ...more } });
    expect([answer.status, answer.stdout]).toEqual([255, '']);
    return answer.stderr;
  };
  const run = (): string => join(cwd, 'base');

  it.each([
    [['bisect', 'triage']],
    [['bisect', 'triage', 'base']],
    [['bisect', 'triage', 'base', '--golden', 'bsae']],
    [['bisect', 'triage', 'base', '--golden', 'golden:bsae']],
    [['bisect', 'triage', 'nowhere', '--golden', 'base']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--on', 'memroy']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--on', 'component:activations']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--on', 'cause:not_oom']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--on', 'component:activation']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--like', 'base']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--on', 'memory', '--like', 'base']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--tolerance', 'memory']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--no-such-option']],
    [['bisect', 'triage', 'base', '--golden', 'broken.json']],
    [['bisect', 'triage', 'base', '--golden', 'empty.json']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--db', 'broken.duckdb']],
    [['bisect', 'triage', '--help']],
    [['bisect', 'triage', 'base', '--golden', 'base', '--no-such-option']],
    [['bisect', 'triage', 'base', '--golden', 'bsae']],
    [['--db', 'broken.duckdb', 'triage', 'base', '--golden', 'base']],
    [['--wait', '1', 'bisect', 'triage', 'base', '--golden', 'bsae']],
    [['bisect', 'run', '--golden', 'base', '--', 'true']],
    [['bisect', 'run', '--golden', 'base']],
  ] as const)('%j', (args) => {
    writeFileSync(join(cwd, 'broken.json'), '{"schema":"mbforensics/golden@1"');
    writeFileSync(join(cwd, 'empty.json'), '{}');
    writeFileSync(join(cwd, 'broken.duckdb'), 'no store');
    const answer = cli.run(args, options);
    expect(answer.status).toBe(255);
  });

  it('a golden run that ran out of memory itself', () => {
    const dead = write({ iterations: 5, target: 12, finished: false, after: oomLines(0) });
    expect(expect255(['bisect', 'triage', run(), '--golden', dead])).toContain('MBF1009');
  });

  // A process each.
  const places = [
    'cli/program.js:import',
    'cli/verbs/compare/triage.js:import',
    'cli/define-verb.js:defineVerb',
    'cli/golden-operand.js:resolveGolden',
    'golden/golden-store.js:readGoldenRows',
    'ingest/ingest.js:ingest',
    'flows/measure-run.js:measureRun',
    'run/log-facts.js:readLogFacts',
    'verdict/run-ending.js:readRunEnding',
    'bisect/criterion.js:parseCriterion',
    'bisect/judge-commit.js:judgeCommit',
    'compare/judge-checks.js:judgeEndings',
    'measure/contract.js:compareContract',
    'report/compare/judgement-words.js:wordedJudgement',
    'report/compare/triage-document.js:triageDocument',
    'cli/context.js:processContext',
    'store/open-store.js:openStore',
  ];
  it.each(places)('an error in %s', (place) => {
    const importing = pathToFileURL(join(repoRoot, 'test', 'support', 'throw-in.mjs')).href;
    // A path of its own: what is cached would not be ingested.
    const fresh = write({});
    const planted = { MBF_TEST_THROW: place, NODE_OPTIONS: `--import ${importing}` };
    expect(expect255(['bisect', 'triage', fresh, '--golden', 'base'], planted)).toContain('planted');
  });

  it('an unreadable judgement', () => {
    const script = `exec "$0" "${cli.script}" bisect triage "${run()}" --golden base > /dev/full`;
    const { status } = spawnSync('/bin/sh', ['-c', script, process.execPath], { cwd, env: environment(options.env) });
    expect(status).toBe(255);
  });

  it('a signal', () => {
    const script = `"$0" "${cli.script}" bisect triage "${write({})}" --golden base & p=$!; sleep 0.05; kill -TERM $p; wait $p`;
    const { status } = spawnSync('/bin/sh', ['-c', script, process.execPath], { cwd, env: environment(options.env) });
    expect(status).toBeGreaterThan(127);
  });
});
