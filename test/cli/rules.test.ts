/** `explain rules`, `explain rules test` and `explain stack` as a user has them. */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PeakResult } from '../../src/model/results/common.js';
import type { ExplainStackResult, RulesResult, RulesTestResult } from '../../src/model/results/rules.js';
import { COMPONENTS } from '../../src/model/vocabulary.js';
import { asker } from '../support/ask.js';
import { samplePath, sampleStore } from '../support/stores.js';

const SNAPSHOT = join(samplePath('llama3-70b-fragmentation'), 'snapshot_oom_rank-0.pickle.gz');

const rulesFile = (when: string, samples: string): string => `rules:
  - id: mine.cache
    component: kv_cache
    at: { file: pkg/net.py, function: forward }
    when: { ${when} }
    samples: [${samples}]
`;
const LARGE = 'frames: [forward /x/pkg/net.py], bytes: 5000';
const MY_RULES = rulesFile('min_bytes: 4096', `{ ${LARGE} }`);

const { mbf, text, json, refuse, put, ends, cli, options } = asker();
beforeAll(() => {
  put('mine.yaml', MY_RULES);
  put('bad.yaml', MY_RULES.replace('kv_cache', 'cache'));
  put('ours.txt', `${FRAMES.join('\n')}\n\n${FRAMES[1]}\n`);
});

const FRAMES = ['forward /x/pkg/net.py:7', 'forward_step megatron/core/pipeline_parallel/schedules.py:402'];
const VIZ = '/x/pkg/net.py:7:forward\nmegatron/core/pipeline_parallel/schedules.py:402:forward_step\n';
const TRACEBACK = `Traceback (most recent call last):
  File "megatron/core/pipeline_parallel/schedules.py", line 402, in forward_step
    output = model()
  File "/x/pkg/net.py", line 7, in forward
    return x
torch.OutOfMemoryError: CUDA out of memory.
`;

describe('rules', () => {
  it('are listed with tier, component and samples', () => {
    const result = json<RulesResult>('explain', 'rules');
    expect(result.schema).toBe('mbforensics/rules@1');
    expect(new Set(result.rules.map(({ tier }) => tier))).toEqual(new Set(['owner', 'framework', 'generic']));
    for (const { id, component, samples, source } of result.rules) {
      expect(COMPONENTS, id).toContain(component);
      expect(samples, id).toBeGreaterThan(0);
      expect(source, id).not.toBe('');
    }
    const { stdout } = mbf('explain', 'rules');
    for (const { id } of result.rules) expect(stdout).toContain(`\n${id} `);
  });

  it('of a file are tested by their samples', () => {
    expect(text('explain', 'rules', 'test', 'mine.yaml')).toBe('mine.yaml: 1 rule, 1 of 1 samples pass\n');
    const { stdout } = cli.expect(0, ['explain', 'rules', 'test', '-'], { ...options, input: MY_RULES });
    expect(stdout).toBe('-: 1 rule, 1 of 1 samples pass\n');
    put('untested.yaml', rulesFile('min_bytes: 4096', ''));
    expect(text('explain', 'rules', 'test', 'untested.yaml')).toContain('a rule without samples is a guess');
  });

  it('that lose a sample end with 1, and the reason', () => {
    put('lost.yaml', rulesFile('min_bytes: 4096', `{ frames: [forward /x/pkg/net.py], bytes: 1 }, { ${LARGE} }`));
    const lost = ends(1, 'explain', 'rules', 'test', 'lost.yaml').stdout;
    expect(lost).toMatch(
      /^failed rule +sample +reason\nmine\.cache +1 +rule generic\.\S+ wins\nlost\.yaml: 1 rule, 1 of 2 samples/,
    );
    const json = ends(1, 'explain', 'rules', 'test', 'lost.yaml', '--json=full').json<RulesTestResult>();
    expect(json).toMatchObject({ schema: 'mbforensics/rules-test@1', file: 'lost.yaml', rules: 1 });
    expect(json.samples.map(({ passed, by_rule }) => [passed, by_rule === 'mine.cache'])).toEqual([
      [false, false],
      [true, true],
    ]);
  });

  it('that are none end with 4 and the line, whichever verb reads them', () => {
    for (const args of [
      ['explain', 'rules', 'test', 'bad.yaml'],
      ['attribute', SNAPSHOT, '--rules', 'bad.yaml'],
      ['timeline', SNAPSHOT, '--components', '--rules', 'bad.yaml'],
      ['explain', 'stack', 'ours.txt', '--rules', 'bad.yaml'],
    ])
      expect(refuse(4, ...args)).toMatch(/MBF2601: bad\.yaml: line 3: rule 1: invalid component; expected one of/);
    expect(refuse(2, 'explain', 'rules', 'test', 'absent.yaml')).toContain('MBF1003');
    expect(refuse(2, 'explain', 'rules', 'test')).toContain('missing required argument');
  });
});

describe('explain-stack', () => {
  const explain = (args: readonly string[], input?: string): ExplainStackResult =>
    cli.expect(0, ['explain', 'stack', ...args, '--json=full'], { ...options, input }).json<ExplainStackResult>();

  it('reads a file, standard input, memory_viz and a traceback alike, several stacks at once', () => {
    const ours = explain(['ours.txt']);
    expect(ours.schema).toBe('mbforensics/explain-stack@1');
    expect(ours.stacks.map(({ frames }) => frames.length)).toEqual([2, 1]);
    expect(ours.stacks[0]).toMatchObject({
      from: 'ours.txt stack 1',
      component: 'activation',
      phase: 'forward',
      phase_frame: 1,
      recompute_frame: null,
    });
    const { from: _, ...answer } = ours.stacks[0]!;
    for (const input of [FRAMES.join('\n'), VIZ, TRACEBACK])
      expect(explain(['-'], input).stacks).toEqual([expect.objectContaining(answer)]);
    const { stdout } = mbf('explain', 'stack', 'ours.txt');
    expect(stdout).toMatch(/^0 {2}forward \S*pkg\/net\.py:7 +generic\.\S+$/m);
    expect(stdout).toMatch(/^1 {2}forward_step \S*schedules\.py:402 +phase forward$/m);
    expect(stdout).toMatch(/^ +source: \S/m);
  });

  it('knows a forward pass that runs again', () => {
    const again = [
      'forward /x/pkg/net.py:7',
      'backward torch/utils/checkpoint.py:300',
      'apply torch/autograd/function.py:5',
    ];
    const [stack] = explain(['-'], again.join('\n')).stacks;
    expect(stack).toMatchObject({ component: 'recompute', recompute_frame: 1 });
  });

  it('explains why rules lose, by the given facts of the block', () => {
    put('when.yaml', rulesFile('lifetime: resident, pool: private, min_bytes: 1024', ''));
    put('one.txt', FRAMES.join('\n'));
    const mine = (...facts: string[]) => {
      const [stack] = explain(['one.txt', '--rules', 'when.yaml', ...facts]).stacks;
      expect(stack!.rules.filter(({ won }) => won)).toHaveLength(1);
      for (const { won, reason } of stack!.rules) expect(reason === null).toBe(won);
      return stack!.rules.find(({ id }) => id === 'mine.cache')!;
    };
    expect(mine().reason).toBe('pool is not known, not private');
    expect(mine('--pool', 'private').reason).toBe('lifetime is not known, not resident');
    const both = ['--pool', 'private', '--lifetime', 'resident'];
    expect(mine(...both).reason).toBe('size is not known');
    expect(mine(...both, '--size', '1000').reason).toBe('1000 bytes is less than 1024');
    expect(mine(...both, '--size', '1KiB')).toMatchObject({ won: true, tier: 'user', frame: 0, reason: null });
    expect(mine('--pool', 'default', '--lifetime', 'transient').reason).toBe('pool is default, not private');
  });

  it('takes a stack of the store, as peak names it', () => {
    const store = ['--db', sampleStore('llama3-70b-fragmentation')];
    const peak = json<PeakResult>('peak', ...store);
    const { stack_id, frames: shown } = peak.snapshots[0]!.devices[0]!.stacks[0]!;
    const [stack] = explain(['--stack', String(stack_id), ...store]).stacks;
    expect(stack!.frames).toEqual(shown);
    expect(stack).toMatchObject({ from: `stack ${stack_id}`, component: 'activation', phase: 'forward' });
    expect(refuse(2, 'explain', 'stack', '--stack', '999999', ...store)).toContain('MBF1002');
    expect(refuse(2, 'explain', 'stack', '--stack', 'x', ...store)).toContain('MBF1001');
  });

  it('needs a stack, and options that make sense', () => {
    expect(refuse(2, 'explain', 'stack')).toContain('name a file of stacks');
    put('empty.txt', '\n\n');
    expect(refuse(2, 'explain', 'stack', 'empty.txt')).toContain('empty.txt holds no stack');
    expect(refuse(2, 'explain', 'stack', 'absent.txt')).toContain('MBF1003');
    expect(refuse(2, 'explain', 'stack', 'ours.txt', '--stack', '1')).toContain('MBF1001');
    for (const option of ['--lifetime', '--pool', '--size'])
      expect(refuse(2, 'explain', 'stack', 'ours.txt', option, 'odd')).toContain(`invalid ${option} "odd"`);
  });

  // Prose and headings are pasted along.
  it('leaves out lines that are not frames', () => {
    const pasted = `hello there\n#1  9.90 GiB  14.6 %  92 blocks\n${FRAMES.join('\n')}\n`;
    expect(explain(['-'], pasted).stacks[0]!.frames).toHaveLength(2);
  });
});
