import { describe, expect, it } from 'vitest';
import { matchRankRule, RANK_RULES, rankFromName } from '../../src/ingest/names/rank-from-name.js';

/** By rule: display paths that it decides, with the rank they give. */
const SAMPLES: Readonly<Record<string, readonly (readonly [path: string, rank: number | undefined])[]>> = {
  'file of all ranks': [
    ['log-allranks_0.out', undefined],
    ['rank3/log-allranks_0.out', undefined],
    ['all_ranks_3.log', undefined],
    ['ranks_0_7.log', undefined],
    ['rank0-7.log', undefined],
    ['rank_0_to_7.log', undefined],
  ],
  'local rank in file name': [
    ['node1/local_rank_3.log', 3],
    ['localrank-7.out', 7],
  ],
  'rank in file name': [
    ['snapshot_oom_rank-3.pickle', 3],
    ['oom_rank-12_snapshot.pickle', 12],
    ['memory_snapshot-rank3.pickle', 3],
    ['memory_snapshot_rank_3.pickle', 3],
    ['memory_snapshot_rank0_step6.pkl', 0],
    ['memory_snapshot/iteration_10/rank0_memory_snapshot.pickle', 0],
    ['memory_snapshot/iteration_10_exit/rank1023_memory_snapshot.pickle', 1023],
    ['train_rank3.log', 3],
    ['train_rank3.log.gz', 3],
    ['train_rank3.log.zst', 3],
    ['rank_0003.out', 3],
    ['rank.7', 7],
    ['log-rank0_123.out', 0],
    ['global_rank_9.txt', 9],
    ['profile_4242_99_node1_rank11.pickle', 11],
    ['Rank-2-of-8.log', 2],
    ['lora_run_rank5.log', 5],
    ['snapshot_step_100_rank_3.pickle', 3],
    ['rank0_memory_snapshot_step_250.pickle', 0],
    ['periodic_rank12_pid4242.pickle', 12],
    ['memory_snapshot_time1755000000.25_rank6_snapshot.pickle', 6],
    ['rank3.250.memory_snapshot.pickle', 3],
    ['rank0_oom_snapshot.pickle', 0],
    ['memory_snapshot/snapshot_stop_step_rank7.pickle', 7],
    ['step12/torch_memory_rank9_pid4242.pickle', 9],
  ],
  'nemo-run log, last number counts restarts': [
    ['log-account-job.pretrain_1234567_0.out', undefined],
    ['rank3/log-account-job.pretrain_1234567_1.out', undefined],
  ],
  '<base>_<rank> of Megatron': [
    ['snapshot_3.pickle', 3],
    ['mem/snapshot_0.pkl.gz', 0],
  ],
  'snapshot_<time>_<rank> of MindSpeed': [['snapshot_2026-03-01-10-02_5.pickle', 5]],
  '<rank>_step_<n> of torchtitan': [
    ['profiling/memory_snapshot/step_000000000100/000007_step_100.pickle', 7],
    ['step_000000000012_exit/000000_step_12.pickle', 0],
    ['step_000000000100/replica_1/001023_step_100.pickle.gz', 1023],
  ],
  'r<rank> of a memory snapshot': [
    ['r12.pickle', 12],
    ['prof_memsnap_r3.pkl', 3],
  ],
  'worker_<rank> at the start of the name of a log': [['worker-0.log', 0]],
  'stdout.<rank> of mpiexec': [
    ['stderr.3', 3],
    ['logs/stdout.0', 0],
  ],
  'local rank, from the directory torchrun made for it': [
    ['logs/none_ab12cd/attempt_0/3/stderr.log', 3],
    ['attempt_1/0/error.json', 0],
  ],
  'rank in directory name': [
    ['rank3/stdout.log', 3],
    ['1/rank.3/stderr', 3],
    ['rank_0007/attempt/out.txt', 7],
    ['oom_rank3/snapshot.pickle', 3],
    ['memory_snapshot_rank12/snapshot.pickle', 12],
    ['step_100_rank3/snapshot.pickle', 3],
  ],
  'local rank in directory name': [['node_1/local_rank_2/stdout.log', 2]],
};

describe('every rank rule', () => {
  for (const rule of RANK_RULES) {
    it(`${rule.name}: decides its own samples`, () => {
      expect(SAMPLES).toHaveProperty([rule.name]);
      for (const [path, rank] of SAMPLES[rule.name]!) {
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
    '000007_step_100.pickle',
    'step_100/000007_step_100.pickle',
    'step_000000000100/7_step_100.pickle',
    'snapshot_10_02_03.pickle',
    'snapshot_20260301.pickle',
    'snapshot_1772359323.pickle',
    // Context lengths, batch sizes, steps, versions.
    'mem_8192.pickle',
    'ctx_4096.pickle',
    'ctx-4096.pickle',
    'snapshot_bs4.pickle',
    'snapshot_b8_s2048.pickle',
    'snapshot_2000.pickle',
    'snapshot_4096.pickle',
    'snapshot-7.pickle',
    'snapshot4.pickle',
    'memory_snapshot_15.pickle',
    'llama3_snapshot_0.pkl',
    'mem_1.pickle',
    '3.pickle',
    'memory_1_oom_snapshot.pickle',
    'memory_at_40.pickle',
    'gpu0_snapshot.pickle',
    // PyTorch's tutorial puts the host first.
    'worker_3_memory.pickle',
    'worker-3_Mar_01_10_02_03.pickle',
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
