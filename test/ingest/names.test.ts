/** What names of files give, by `names.yaml`: ranks, steps, launches, and why a snapshot was dumped. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { attemptsFromNames, LAUNCH_NAMES } from '../../src/ingest/discover/names/attempt-from-name.js';
import { matchRankRule, RANK_RULES, rankFromName } from '../../src/ingest/discover/names/rank-from-name.js';
import { STEP_RULES, stepFromName } from '../../src/ingest/discover/names/step-from-name.js';
import { dumpTrigger } from '../../src/ingest/write/dump-trigger.js';

type Groups = Readonly<Record<string, string>>;

const NAMES = parse(readFileSync(join(import.meta.dirname, 'names.yaml'), 'utf8')) as Readonly<
  Record<'rank' | 'no rank' | 'step' | 'no step' | 'trigger', Groups> &
    Record<'launch' | 'no launch' | 'no trigger', string>
>;

const words = (text: string): string[] => text.trim().split(/\s+/);
const all = (groups: Groups): string[] => Object.values(groups).flatMap(words);
/** `value=name` of each word. */
const pairs = (text: string): [name: string, value: string][] =>
  words(text).map((word) => [word.slice(word.indexOf('=') + 1), word.slice(0, word.indexOf('='))]);
const numberOf = (text: string | undefined): number | undefined => (text === '-' ? undefined : Number(text));

describe('a rank', () => {
  it.each(RANK_RULES)('by rule: $name', (rule) => {
    for (const [path, value] of pairs(NAMES.rank[rule.name]!)) {
      const rank = numberOf(value);
      expect([path, matchRankRule(path)?.rule.name, matchRankRule(path)?.rank]).toEqual([path, rule.name, rank]);
      const expected = rank === undefined ? undefined : { rank, scope: rule.scope, rule: rule.name };
      expect(rankFromName(path)).toEqual(expected);
    }
  });

  it.each(all(NAMES['no rank']))('is not guessed: %s', (name) => expect(rankFromName(name)).toBeUndefined());

  it('is in the file before its directories, and in inner directories before outer ones', () => {
    expect(rankFromName('rank1/rank2/rank3.log')?.rank).toBe(3);
    expect(rankFromName('rank1/rank2/stdout.log')?.rank).toBe(2);
  });

  it('is the number right after the word, whatever other numbers surround it', () => {
    expect(rankFromName('17_node4_rank5_step6_789.log')?.rank).toBe(5);
  });
});

describe('a number behind the base name is a rank of Megatron', () => {
  const ranksOf = (names: readonly string[]): (number | undefined)[] =>
    names.map((name) => rankFromName(`run/${name}`, names)?.rank);
  const numbered = (numbers: readonly number[], base = 'snapshot'): string[] =>
    numbers.map((number) => `${base}_${number}.pickle`);

  it.each([
    ['all ranks of 16', Array.from({ length: 16 }, (_, i) => i)],
    ['with some lost', [0, 1, 2, 4, 5, 7, 8, 9, 12, 15]],
    ['one of each node', [0, 8, 16, 24]],
    ['some of one node', [1, 5]],
  ])('%s', (_, ranks) => expect(ranksOf(numbered(ranks))).toEqual(ranks));

  it.each([
    ['steps', [0, 100, 200]],
    ['steps from 10 on', [10, 20, 30, 40]],
    ['context lengths', [2048, 4096, 8192]],
    ['batch sizes', [1, 2, 4, 8, 16, 32]],
    ['a rank and a step', [0, 2000]],
  ])('not %s', (_, numbers) => expect(ranksOf(numbered(numbers))).toEqual(numbers.map(() => undefined)));

  it('whatever its base, where its OOM file is in the directory', () => {
    const dumps = numbered([3, 700], 'llama.mem');
    expect(ranksOf([...dumps, 'llama.mem_oom_rank_3.pickle'])).toEqual([3, 700, 3]);
    expect(ranksOf([...dumps, 'llama.mem_oom_rank-700.pickle.gz'])).toEqual([3, 700, 700]);
    expect(ranksOf([...dumps, 'oom_rank-3_llama.mem.pickle'])).toEqual([3, 700, 3]);
    expect(ranksOf([...dumps, 'other_oom_rank-3.pickle'])).toEqual([undefined, undefined, 3]);
    expect(ranksOf(numbered([0, 1, 2, 3], 'mem'))).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('else the directory has it', () => {
    expect(rankFromName('rank3/snapshot_2000.pickle', ['snapshot_2000.pickle'])?.rank).toBe(3);
  });
});

describe('a step', () => {
  it.each(STEP_RULES)('by rule: $name', ({ name: rule }) => {
    for (const [path, value] of pairs(NAMES.step[rule]!))
      expect([path, stepFromName(path)]).toEqual([path, { step: Number(value), rule }]);
  });

  it.each(all(NAMES['no step']))('is not guessed: %s', (name) => expect(stepFromName(name)).toBeUndefined());

  it('is not a rank, and a rank is not a step', () => {
    expect(rankFromName('snapshot_step_100.pickle')).toBeUndefined();
    const name = 'snapshot_step_100_rank_3.pickle';
    expect([stepFromName(name)?.step, rankFromName(name)?.rank]).toEqual([100, 3]);
  });

  it('rules have names of their own', () => {
    for (const rules of [RANK_RULES, STEP_RULES])
      expect(new Set(rules.map((rule) => rule.name)).size).toBe(rules.length);
  });
});

describe('the launch a file belongs to', () => {
  it.each(pairs(NAMES.launch))('%s is of job and restart %s', (path, value) => {
    const [job, restart] = value.split(',').map(numberOf);
    for (const name of [path, `${path}.gz`]) {
      const groups = LAUNCH_NAMES.map((pattern) => pattern.exec(path)).find((match) => match !== null)?.groups;
      expect([numberOf(groups?.['job'] ?? '-'), numberOf(groups?.['restart'] ?? '-')]).toEqual([job, restart]);
      expect(attemptsFromNames([name])).toEqual([1]);
    }
  });

  it.each([
    ['slurm-991.out slurm-1002.out train.log slurm-991.err', [1, 2, 1, 1]],
    ['log-a-b_1234567_1.out.gz log-a-b_1234567_0.out log-a-b_1234567_node2_1.out snapshot_3.pickle', [2, 1, 2, 1]],
    ['x/attempt_0/0/stderr.log x/attempt_1/0/stderr.log', [1, 2]],
  ])('is counted over the files of a run, by job id and restart: %s', (names, attempts) => {
    expect(attemptsFromNames(words(names))).toEqual(attempts);
  });

  it.each(words(NAMES['no launch']))('%s: no attempt', (path) => {
    expect(attemptsFromNames([path, 'slurm-99.out', 'slurm-1000.out'])).toEqual([1, 1, 2]);
  });
});

describe('why a snapshot was dumped', () => {
  const triggers = Object.entries(NAMES.trigger).flatMap(([why, names]) =>
    words(names).map((path) => [path, why] as const),
  );

  it.each(triggers)('%s: %s', (path, why) => {
    const [trigger, origin] = why.split(', ');
    expect(dumpTrigger(path, false, stepFromName(path))).toEqual({ trigger, origin });
  });

  it.each(['run/snapshot_3.pickle', 'iteration_10/rank0_memory_snapshot.pickle'])('%s with an OOM last', (path) => {
    const expected = { trigger: 'oom', origin: 'trace: its last entry is an OOM' };
    expect(dumpTrigger(path, true, stepFromName(path))).toEqual(expected);
  });

  it.each(words(NAMES['no trigger']))('%s: unknown', (path) => {
    expect(dumpTrigger(path, false, stepFromName(path))).toBeUndefined();
  });
});
