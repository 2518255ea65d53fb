import { describe, expect, it } from 'vitest';
import { matchRankRule, RANK_RULES, rankFromName } from '../../src/ingest/names/rank-from-name.js';

describe('every rank rule', () => {
  for (const rule of RANK_RULES) {
    it(`${rule.name}: decides its own samples`, () => {
      expect(rule.samples.length).toBeGreaterThan(0);
      for (const [path, rank] of rule.samples) {
        expect([path, matchRankRule(path)?.rule.name, matchRankRule(path)?.rank]).toEqual([path, rule.name, rank]);
        const expected = rank === undefined ? undefined : { rank, scope: rule.scope, rule: rule.name };
        expect(rankFromName(path)).toEqual(expected);
      }
    });
  }

  it('has a unique name', () => {
    expect(new Set(RANK_RULES.map((rule) => rule.name)).size).toBe(RANK_RULES.length);
  });
});

describe('no rank is guessed', () => {
  const names = [
    'snapshot.pickle',
    'host_123_Mar_01_10_02_03.pickle',
    'snapshot_step_100.pickle',
    'snapshot_10_02_03.pickle',
    'snapshot_20260301.pickle',
    'snapshot_1772359323.pickle',
    'iteration_10/memory.pickle',
    'run_3/train.log',
    '3/train.log',
    'node_rank_3.log',
    'noderank3.log',
    'tp_rank_1.log',
    'mp_rank_00_001.log',
    'tensor_model_parallel_rank_3.log',
    'lora_rank_16.log',
    'lora_r16.pickle',
    'snapshot_lora_r16.pickle',
    'ranking_3.log',
    'frank3.log',
    'rank1772359323.log',
    'slurm-1234567_4.out',
    'log_host-17.out',
    'stdout.log.1',
    'worker_ab12_3.log',
    'coworker_3_a.log',
    'rank3_experiments/train.log',
    'tp_rank_3/train.log',
  ];
  for (const name of names) it(name, () => expect(rankFromName(name)).toBeUndefined());
});

it('asks the file before its directories, and inner directories before outer ones', () => {
  expect(rankFromName('rank1/rank2/rank3.log')?.rank).toBe(3);
  expect(rankFromName('rank1/rank2/stdout.log')?.rank).toBe(2);
});

it('takes the number right after the word, whatever other numbers surround it', () => {
  expect(rankFromName('17_node4_rank5_step6_789.log')?.rank).toBe(5);
});
