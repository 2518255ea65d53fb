/**
 * The training step at which a memory snapshot was dumped, from its name. As with ranks, a number counts only where a
 * rule names its producer: a wrong step puts a snapshot in the wrong place of its series.
 *
 * Producers: torchtitan and derivatives of its profiler (`torchtitan/tools/profiling.py`:
 * `iteration_<n>/rank<r>_memory_snapshot.pickle`, and `iteration_<n>_exit/` where an OutOfMemoryError ended the run);
 * training scripts that write `memory_snapshot_step_<n>.pickle`, `rank<r>_memory_snapshot_step_<n>.pickle`,
 * `memory_snapshot_rank<r>_step<n>.pkl`; directories named as the frameworks name their checkpoints (Megatron
 * `iter_<n>`, DeepSpeed `global_step<n>`, Transformers `checkpoint-<n>`). Megatron-LM, Megatron Bridge and NeMo do not
 * put steps into names: they write one file a rank, the first of them repeatedly.
 */

export interface NamedStep {
  readonly step: number;
  /** The rule's name. */
  readonly rule: string;
}

export interface StepRule {
  readonly name: string;
  /** `base`: the base name without compression suffix. `directory`: each directory name, innermost first. */
  readonly on: 'base' | 'directory';
  /** The first group is the step. */
  readonly pattern: RegExp;
  readonly samples: readonly (readonly [path: string, step: number])[];
}

/** Longer numbers are times and ids, and eight digits that begin a date are one. */
const STEP = '(?!(?:19|20)\\d{6}(?!\\d))(\\d{1,8})(?!\\d)';
const WORD = '(?<![a-z])(?:global[-_.]?)?(?:step|iter|iteration)[-_.=]?';

export const STEP_RULES: readonly StepRule[] = [
  {
    name: 'step in file name',
    on: 'base',
    pattern: new RegExp(`${WORD}${STEP}`, 'i'),
    samples: [
      ['snapshot_step_100_rank_3.pickle', 100],
      ['memory_snapshot_step_50.pickle', 50],
      ['memory_snapshot_step3.pkl', 3],
      ['rank0_memory_snapshot_step_250.pickle', 250],
      ['memory_snapshot_rank0_step6.pkl.gz', 6],
      ['snapshot_iter_0000100.pickle', 100],
      ['mem-iteration-20-rank1.pickle', 20],
      ['snapshot_global_step1500.pickle', 1500],
      ['iteration_10/rank0_step_12.pickle', 12],
    ],
  },
  {
    name: 'number behind the name of a snapshot',
    on: 'base',
    // No framework writes it, scripts do. A hyphen: behind an underscore Megatron writes the rank.
    pattern: new RegExp(`snapshot-${STEP}\\.(?:pickle|pkl)$`, 'i'),
    samples: [
      ['snapshot-100.pickle', 100],
      ['rank3_memory_snapshot-2000.pkl', 2000],
    ],
  },
  {
    name: 'step in directory name',
    on: 'directory',
    pattern: new RegExp(`^${WORD}${STEP}(?:_exit)?$`, 'i'),
    samples: [
      ['memory_snapshot/iteration_10/rank0_memory_snapshot.pickle', 10],
      ['memory_snapshot/iteration_10_exit/rank1023_memory_snapshot.pickle', 10],
      ['iter_0000500/snapshot_0.pickle', 500],
      ['global_step20/rank0/memory.pickle', 20],
    ],
  },
  {
    name: 'checkpoint directory of Transformers',
    on: 'directory',
    pattern: new RegExp(`^checkpoint-${STEP}$`),
    samples: [['checkpoint-1500/snapshot.pickle', 1500]],
  },
];

/** @param path `/`-separated; compression suffixes are ignored. The file's own name is asked before its directories. */
export function stepFromName(path: string): NamedStep | undefined {
  const segments = path.replace(/\.(?:gz|zst|zstd|xz|bz2|lz4)$/i, '').split('/');
  const directories = segments.slice(0, -1).reverse();
  for (const { name, on, pattern } of STEP_RULES) {
    for (const subject of on === 'base' ? segments.slice(-1) : directories) {
      const step = pattern.exec(subject)?.[1];
      if (step !== undefined) return { step: Number(step), rule: name };
    }
  }
  return undefined;
}
