/**
 * Ranks from names. A wrong rank is worse than none (it puts one rank's memory on another's device), so a number counts
 * only where a rule names its producer.
 *
 * Producers: Megatron-LM and Megatron Bridge `<base>_<rank><ext>` and `<base>_oom_rank-<rank><ext>`, older Megatron-LM
 * `oom_rank-<rank>_<base>`, NeMo `memory_snapshot-rank<rank>.pickle`, torchtitan
 * `iteration_<n>[_exit]/rank<rank>_memory_snapshot.pickle`, torchrun `attempt_<n>/<local rank>/{stdout,stderr}.log`
 * (torch `distributed/elastic/multiprocessing/api.py`, DefaultLogsSpecs), torchtnt
 * `{oom,memory_snapshot}_rank<rank>/snapshot.pickle` (`utils/oom.py`), verl `<tag>_rank<rank>_pid<pid>.pickle`
 * (`utils/memory_utils.py`), slime `memory_snapshot_time<time>_rank<rank>_<base>`, MindSpeed
 * `snapshot_<time>_<rank>.pickle`, Open MPI `rank.<rank>/stdout`, nemo-run `log-<job>_<job id>_<restart>.out` and
 * `log-allranks_<n>.out`.
 */

export interface NamedRank {
  readonly rank: number;
  /** `local`: the process's number on its node; equals the global rank only in a one-node run. */
  readonly scope: 'global' | 'local';
  /** The rule's name, in words fit for `rank.origin`. */
  readonly rule: string;
}

export interface RankRule {
  readonly name: string;
  /**
   * `base`: the base name without compression suffix. `path`: the whole display path. `directory`: each directory name,
   * innermost first.
   */
  readonly on: 'base' | 'path' | 'directory';
  /** The first group is the rank; a rule of scope `none` lacks a group and ends the search. */
  readonly pattern: RegExp;
  readonly scope: 'global' | 'local' | 'none';
  /** Display paths this very rule decides, with the rank they give; held by one test over all rules. */
  readonly samples: readonly (readonly [path: string, rank: number | undefined])[];
}

/**
 * Positions on one axis of the parallel grid, nodes, and LoRA ranks are written `tp_rank_3`, `node_rank-1`,
 * `lora_rank16` too.
 */
const NOT_A_GLOBAL_RANK =
  '(?<!(?:^|[^a-z])(?:local|node|host|machine|group|replica|tp|pp|vpp|dp|ep|cp|mp|sp|etp|edp|fsdp|tensor|pipeline|data|expert|context|parallel|model|lora|low|matrix|adapter|svd)[-_.]?)';
/** Five digits are enough for any machine; longer numbers are times, dates, job and process ids. */
const RANK = '(\\d{1,5})(?!\\d)';

export const RANK_RULES: readonly RankRule[] = [
  {
    name: 'file of all ranks',
    on: 'base',
    // `ranks`, `all_ranks`, and ranges: `rank0-7.log`, `rank_0_to_7.log`.
    pattern:
      /all[-_.]?ranks?(?![a-z])|(?<![a-z])ranks(?![a-z])|(?<![a-z])rank[-_.]?\d+(?:[-_.]?to[-_.]?|-|\.\.)\d{1,4}(?:\.[a-z]+)?$/i,
    scope: 'none',
    samples: [
      ['log-allranks_0.out', undefined],
      ['rank3/log-allranks_0.out', undefined],
      ['all_ranks_3.log', undefined],
      ['ranks_0_7.log', undefined],
      ['rank0-7.log', undefined],
      ['rank_0_to_7.log', undefined],
    ],
  },
  {
    name: 'local rank in file name',
    on: 'base',
    pattern: new RegExp(`(?<![a-z])local[-_.]?rank[-_.=]?${RANK}`, 'i'),
    scope: 'local',
    samples: [
      ['node1/local_rank_3.log', 3],
      ['localrank-7.out', 7],
    ],
  },
  {
    name: 'rank in file name',
    on: 'base',
    pattern: new RegExp(`(?<![a-z])${NOT_A_GLOBAL_RANK}(?:(?:global|world)[-_.]?)?rank[-_.=]?${RANK}`, 'i'),
    scope: 'global',
    samples: [
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
    ],
  },
  {
    name: 'nemo-run log, whose last number counts restarts',
    on: 'base',
    pattern: /^log-.+_\d+_\d+\.out$/,
    scope: 'none',
    samples: [
      ['log-account-job.pretrain_1234567_0.out', undefined],
      ['rank3/log-account-job.pretrain_1234567_1.out', undefined],
    ],
  },
  {
    name: 'snapshot_<rank> of Megatron',
    on: 'base',
    // The word must be right before the number: snapshot_step_100 and snapshot_10_02_03 do not contain ranks.
    pattern: new RegExp(`snapshot_${RANK}(?:\\.(?:pickle|pkl|json|html))?$`, 'i'),
    scope: 'global',
    samples: [
      ['snapshot_3.pickle', 3],
      ['memory_snapshot_15.pickle', 15],
      ['llama3.snapshot_0.pkl', 0],
    ],
  },
  {
    name: 'snapshot_<time>_<rank> of MindSpeed',
    on: 'base',
    pattern: new RegExp(`^snapshot_\\d{4}(?:-\\d\\d){4}_${RANK}\\.(?:pickle|pkl)$`),
    scope: 'global',
    samples: [['snapshot_2026-03-01-10-02_5.pickle', 5]],
  },
  {
    name: 'r<rank> of a memory snapshot',
    on: 'base',
    // Only for pickles named after memory, or after nothing else: elsewhere r16 is a revision or a LoRA rank.
    pattern: new RegExp(`^(?:(?!.*lora).*(?:mem|snap|oom).*[-_.])?r${RANK}\\.(?:pickle|pkl)$`, 'i'),
    scope: 'global',
    samples: [
      ['r12.pickle', 12],
      ['prof_memsnap_r3.pkl', 3],
    ],
  },
  {
    name: 'worker_<rank> at the start of the file name',
    on: 'base',
    pattern: new RegExp(`^worker[-_]${RANK}(?=[-_.]|$)`, 'i'),
    scope: 'global',
    samples: [
      ['worker_3_memory.pickle', 3],
      ['worker-0.log', 0],
    ],
  },
  {
    name: 'stdout.<rank> of mpiexec',
    on: 'base',
    pattern: new RegExp(`^std(?:out|err)\\.${RANK}$`),
    scope: 'global',
    samples: [
      ['stderr.3', 3],
      ['logs/stdout.0', 0],
    ],
  },
  {
    name: 'local rank, from the directory torchrun made for it',
    on: 'path',
    pattern: new RegExp(`(?:^|/)attempt_\\d+/${RANK}/[^/]+$`),
    scope: 'local',
    samples: [
      ['logs/none_ab12cd/attempt_0/3/stderr.log', 3],
      ['attempt_1/0/error.json', 0],
    ],
  },
  {
    name: 'rank in directory name',
    on: 'directory',
    pattern: new RegExp(`^(?:(?:oom|(?:memory_)?snapshot)[-_])?(?:global[-_.]?)?rank[-_.=]?${RANK}$`, 'i'),
    scope: 'global',
    samples: [
      ['rank3/stdout.log', 3],
      ['1/rank.3/stderr', 3],
      ['rank_0007/attempt/out.txt', 7],
      ['oom_rank3/snapshot.pickle', 3],
      ['memory_snapshot_rank12/snapshot.pickle', 12],
    ],
  },
  {
    name: 'local rank in directory name',
    on: 'directory',
    pattern: new RegExp(`^local[-_.]?rank[-_.=]?${RANK}$`, 'i'),
    scope: 'local',
    samples: [['node_1/local_rank_2/stdout.log', 2]],
  },
];

/**
 * The rank in a path, or undefined. The file's own name is tested before its directories. A name for several ranks ends
 * the search.
 *
 * @param displayPath `/`-separated; compression suffixes are ignored.
 */
export function rankFromName(displayPath: string): NamedRank | undefined {
  const match = matchRankRule(displayPath);
  if (match === undefined || match.rank === undefined || match.rule.scope === 'none') return undefined;
  return { rank: match.rank, scope: match.rule.scope, rule: match.rule.name };
}

/** The rule that decides a path, also where it decides that the path lacks a rank. */
export function matchRankRule(displayPath: string): { rule: RankRule; rank: number | undefined } | undefined {
  const path = displayPath.replaceAll('\\', '/').replace(/\.(?:gz|zst|zstd|xz|bz2|lz4)$/i, '');
  const segments = path.split('/');
  const base = segments.at(-1) ?? path;
  const directories = segments.slice(0, -1).reverse();
  for (const rule of RANK_RULES) {
    const subjects = rule.on === 'base' ? [base] : rule.on === 'path' ? [path] : directories;
    for (const subject of subjects) {
      const match = rule.pattern.exec(subject);
      if (match === null) continue;
      return { rule, rank: match[1] === undefined ? undefined : Number(match[1]) };
    }
  }
  return undefined;
}
