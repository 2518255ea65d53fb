/**
 * The training step at which a memory snapshot was dumped, from its name. As with ranks, a number counts only where a
 * rule names its producer: a wrong step puts a snapshot in the wrong place of its series.
 *
 * Producers: torchtitan and derivatives of its profiler (`torchtitan/tools/profiling.py`:
 * `iteration_<n>/rank<r>_memory_snapshot.pickle`, and `iteration_<n>_exit/` where an OutOfMemoryError ended the run);
 * training scripts that write `memory_snapshot_step_<n>.pickle`, `rank<r>_memory_snapshot_step_<n>.pickle`,
 * `memory_snapshot_rank<r>_step<n>.pkl`; Composer's `rank<r>.<batch>.memory_snapshot.pickle`; directories named as
 * the frameworks name their checkpoints (Megatron `iter_<n>`, DeepSpeed `global_step<n>`, Transformers
 * `checkpoint-<n>`). Megatron-LM, Megatron Bridge and NeMo do not put steps into names: they write one file a rank, the
 * first of them repeatedly. A number alone (`snapshot-4096.pickle`) may be a context length as well.
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
}

/** Longer numbers are times and ids, and eight digits that begin a date are one. */
const STEP = '(?!(?:19|20)\\d{6}(?!\\d))(\\d{1,8})(?!\\d)';
const WORD = '(?<![a-z])(?:global[-_.]?)?(?:step|iter|iteration)[-_.=]?';

export const STEP_RULES: readonly StepRule[] = [
  {
    name: 'step in file name',
    on: 'base',
    pattern: new RegExp(`${WORD}${STEP}`, 'i'),
  },
  {
    name: 'rank<r>.<batch> of Composer',
    on: 'base',
    pattern: new RegExp(`^rank\\d{1,5}\\.${STEP}\\.(?:.+\\.)?memory_snapshot\\.`),
  },
  {
    name: 'step in directory name',
    on: 'directory',
    pattern: new RegExp(`^${WORD}${STEP}(?:_exit)?$`, 'i'),
  },
  {
    name: 'checkpoint directory of Transformers',
    on: 'directory',
    pattern: new RegExp(`^checkpoint-${STEP}$`),
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
