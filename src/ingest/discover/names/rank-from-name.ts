/**
 * Ranks from names. A wrong rank is worse than none (it puts one rank's memory on another's device), so a number counts
 * only where a rule names its producer.
 *
 * A number without a word (`mem_8192.pickle`, `snapshot_2000.pickle`) may be a context length, a batch size or a
 * step. Megatron writes its ranks so, too: {@link isMegatronRank} has the rule that separates them.
 *
 * Producers: Megatron-LM and Megatron Bridge `<base>_<rank><ext>` and `<base>_oom_rank-<rank><ext>`, older Megatron-LM
 * `oom_rank-<rank>_<base>`, NeMo `memory_snapshot-rank<rank>.pickle`, torchtitan
 * `iteration_<n>[_exit]/rank<rank>_memory_snapshot.pickle` and, since 2026, `step_<12 digits>[_exit]/[<leaf>/]<rank, 6
 * digits>_step_<n>.pickle` (`tools/profiler.py`), torchrun `attempt_<n>/<local rank>/{stdout,stderr}.log` (torch
 * `distributed/elastic/multiprocessing/api.py`, DefaultLogsSpecs), torchtnt
 * `{oom,memory_snapshot}_rank<rank>/snapshot.pickle` (`utils/oom.py`), Composer
 * `rank<rank>.<batch>.memory_snapshot.pickle`, verl `<tag>_rank<rank>_pid<pid>.pickle` (`utils/memory_utils.py`), slime
 * `memory_snapshot_time<time>_rank<rank>_<base>`, MindSpeed `snapshot_<time>_<rank>.pickle`, Open MPI
 * `rank.<rank>/stdout`, nemo-run `log-<job>_<job id>_<restart>.out` and `log-allranks_<n>.out`.
 */
import { maxOf } from '../../../model/lists.js';

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
  /** Where the name alone does not decide: whether it is a rank among the names of the files in its directory. */
  readonly accepts?: (match: RegExpExecArray, siblings: readonly string[]) => boolean;
}

/**
 * Positions on one axis of the parallel grid, nodes, and LoRA ranks are written `tp_rank_3`, `node_rank-1`,
 * `lora_rank16` too.
 */
const NOT_A_GLOBAL_RANK =
  '(?<!(?:^|[^a-z])(?:local|node|host|machine|group|replica|tp|pp|vpp|dp|ep|cp|mp|sp|etp|edp|fsdp|tensor|pipeline|data|expert|context|parallel|model|lora|low|matrix|adapter|svd)[-_.]?)';
/** Five digits are enough for any machine; longer numbers are times, dates, job and process ids. */
const RANK = '(\\d{1,5})(?!\\d)';

const COMPRESSED = /\.(?:gz|zst|zstd|xz|bz2|lz4)$/i;
/** Groups: the rank, the base, the extension. The word before the number must not be a date's or a step's. */
const NUMBERED_SNAPSHOT = new RegExp(`^(?=.*_${RANK}\\.)(.+)_\\d+(\\.(?:pickle|pkl|json|html))$`, 'i');
/** GPUs of one node: a number below it needs no further sign. */
const NODE_GPUS = 8;

/**
 * Whether `<base>_<n><ext>` is a file of Megatron-LM or Megatron Bridge, whose number is the rank. One of:
 *
 * - an OOM file of the same base is in the directory (`<base>_oom_rank-3<ext>`, `oom_rank-3_<base><ext>`): only they
 *   write both;
 * - the base is their default, `snapshot`, and the numbers of all such files in the directory are ranks: all below 8;
 *   or from 0 on with at most half of them missing, or so in steps of a power of two (one rank of each node).
 *
 * So `snapshot_4096.pickle` alone, and `snapshot_0`, `snapshot_100`, `snapshot_200`, do not have a rank.
 */
function isMegatronRank([name, , base, extension]: RegExpExecArray, siblings: readonly string[]): boolean {
  const names = new Set([name, ...siblings.map((sibling) => sibling.replace(COMPRESSED, ''))]);
  const numbers: number[] = [];
  for (const sibling of names) {
    if (!sibling.endsWith(extension!)) continue;
    const stem = sibling.slice(0, -extension!.length);
    if (stem.endsWith(`_${base}`) && /^oom_rank-\d{1,5}_/.test(stem)) return true;
    if (!stem.startsWith(`${base}_`)) continue;
    const ending = stem.slice(base!.length + 1);
    if (/^oom_rank[-_]\d{1,5}$/.test(ending)) return true;
    if (/^\d+$/.test(ending)) numbers.push(Number(ending));
  }
  if (base !== 'snapshot') return false;
  const largest = maxOf(numbers);
  if (largest < NODE_GPUS) return true;
  if (!numbers.includes(0)) return false;
  let stride = 1;
  while (numbers.every((number) => number % (2 * stride) === 0)) stride *= 2;
  return largest / stride + 1 <= 2 * numbers.length;
}

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
    name: 'nemo-run log, last number counts restarts',
    on: 'base',
    pattern: /^log-.+_\d+_\d+\.out$/,
    scope: 'none',
  },
  {
    name: '<base>_<rank> of Megatron',
    on: 'base',
    pattern: NUMBERED_SNAPSHOT,
    scope: 'global',
    accepts: isMegatronRank,
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
    name: 'worker_<rank> at the start of the name of a log',
    on: 'base',
    // Of a snapshot it is the host: PyTorch's tutorial names the file after it.
    pattern: new RegExp(`^worker[-_]${RANK}(?=[-_.]|$)(?!.*\\.(?:pickle|pkl|json|html)$)`, 'i'),
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
    pattern: new RegExp(`^(?:(?:oom|(?:memory_)?snapshot|step_\\d+)[-_])?(?:global[-_.]?)?rank[-_.=]?${RANK}$`, 'i'),
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
 * @param siblings names of the files in its directory; see {@link needsSiblings}.
 */
export function rankFromName(displayPath: string, siblings: readonly string[] = []): NamedRank | undefined {
  const match = matchRankRule(displayPath, siblings);
  if (match === undefined || match.rank === undefined || match.rule.scope === 'none') return undefined;
  return { rank: match.rank, scope: match.rule.scope, rule: match.rule.name };
}

/** Whether the other files of its directory can decide its rank. */
export function needsSiblings(displayPath: string): boolean {
  return NUMBERED_SNAPSHOT.test(displayPath.replace(COMPRESSED, '').split('/').at(-1)!);
}

/** The rule that decides a path, also where it decides that the path lacks a rank. */
export function matchRankRule(
  displayPath: string,
  siblings: readonly string[] = [],
): { rule: RankRule; rank: number | undefined } | undefined {
  const path = displayPath.replaceAll('\\', '/').replace(COMPRESSED, '');
  const segments = path.split('/');
  const base = segments.at(-1) ?? path;
  const directories = segments.slice(0, -1).reverse();
  for (const rule of RANK_RULES) {
    const subjects = rule.on === 'base' ? [base] : rule.on === 'path' ? [path] : directories;
    for (const subject of subjects) {
      const match = rule.pattern.exec(subject);
      if (match === null || rule.accepts?.(match, siblings) === false) continue;
      return { rule, rank: match[1] === undefined ? undefined : Number(match[1]) };
    }
  }
  return undefined;
}
