/**
 * Ranks from names. A wrong rank is worse than none (it puts one rank's memory on another's device), so a number counts
 * only where a rule names its producer.
 *
 * Producers: Megatron-LM and Megatron Bridge `<base>_<rank><ext>` and `<base>_oom_rank-<rank><ext>`, older Megatron-LM
 * `oom_rank-<rank>_<base>`, NeMo `memory_snapshot-rank<rank>.pickle`, torchtitan
 * `iteration_<n>[_exit]/rank<rank>_memory_snapshot.pickle` and, since 2026, `step_<12 digits>[_exit]/[<leaf>/]<rank, 6
 * digits>_step_<n>.pickle` (`tools/profiler.py`), torchrun `attempt_<n>/<local rank>/{stdout,stderr}.log` (torch
 * `distributed/elastic/multiprocessing/api.py`, DefaultLogsSpecs), torchtnt
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
  },
  {
    name: 'local rank in file name',
    on: 'base',
    pattern: new RegExp(`(?<![a-z])local[-_.]?rank[-_.=]?${RANK}`, 'i'),
    scope: 'local',
  },
  {
    name: 'rank in file name',
    on: 'base',
    pattern: new RegExp(`(?<![a-z])${NOT_A_GLOBAL_RANK}(?:(?:global|world)[-_.]?)?rank[-_.=]?${RANK}`, 'i'),
    scope: 'global',
  },
  {
    name: 'nemo-run log, whose last number counts restarts',
    on: 'base',
    pattern: /^log-.+_\d+_\d+\.out$/,
    scope: 'none',
  },
  {
    name: 'snapshot_<rank> of Megatron',
    on: 'base',
    // The word must be right before the number: snapshot_step_100 and snapshot_10_02_03 do not contain ranks.
    pattern: new RegExp(`snapshot_${RANK}(?:\\.(?:pickle|pkl|json|html))?$`, 'i'),
    scope: 'global',
  },
  {
    name: 'snapshot_<time>_<rank> of MindSpeed',
    on: 'base',
    pattern: new RegExp(`^snapshot_\\d{4}(?:-\\d\\d){4}_${RANK}\\.(?:pickle|pkl)$`),
    scope: 'global',
  },
  {
    name: 'r<rank> of a memory snapshot',
    on: 'base',
    // Only for pickles named after memory, or after nothing else: elsewhere r16 is a revision or a LoRA rank.
    pattern: new RegExp(`^(?:(?!.*lora).*(?:mem|snap|oom).*[-_.])?r${RANK}\\.(?:pickle|pkl)$`, 'i'),
    scope: 'global',
  },
  {
    name: 'worker_<rank> at the start of the file name',
    on: 'base',
    pattern: new RegExp(`^worker[-_]${RANK}(?=[-_.]|$)`, 'i'),
    scope: 'global',
  },
  {
    name: 'stdout.<rank> of mpiexec',
    on: 'base',
    pattern: new RegExp(`^std(?:out|err)\\.${RANK}$`),
    scope: 'global',
  },
  {
    name: 'local rank, from the directory torchrun made for it',
    on: 'path',
    pattern: new RegExp(`(?:^|/)attempt_\\d+/${RANK}/[^/]+$`),
    scope: 'local',
  },
  {
    name: '<rank>_step_<n> of torchtitan',
    on: 'path',
    // Only below its directory: six digits alone may be anything.
    pattern: /(?:^|\/)step_\d{12}(?:_exit)?\/(?:[^/]+\/)?0*(\d{1,5})(?<=\/\d{6})_step_\d+\.pickle$/,
    scope: 'global',
  },
  {
    name: 'rank in directory name',
    on: 'directory',
    pattern: new RegExp(`^(?:(?:oom|(?:memory_)?snapshot)[-_])?(?:global[-_.]?)?rank[-_.=]?${RANK}$`, 'i'),
    scope: 'global',
  },
  {
    name: 'local rank in directory name',
    on: 'directory',
    pattern: new RegExp(`^local[-_.]?rank[-_.=]?${RANK}$`, 'i'),
    scope: 'local',
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
