/** The part of a run's ranks that one task adds: every Nth group of eight, so that late files change nothing. */

export interface Block {
  /** Number of the task, from 0. */
  readonly number: number;
  /** Number of tasks. */
  readonly of: number;
  /** Whether the paths hold the ranks of this task alone, as on the disk of a node: then all are taken. */
  readonly isLocal: boolean;
}

export const ALL_RANKS: Block = { number: 0, of: 1, isLocal: false };
/** That of the task, of local files. */
export const LOCAL = 'local';

/** GPUs of a node: their files stay together. */
const GROUP = 8;

/** Rows and files of no rank are those of the first task. */
export function ownsRank({ number, of, isLocal }: Block, rank: number | null): boolean {
  return isLocal || (rank === null ? number === 0 : Math.floor(rank / GROUP) % of === number);
}

/** {@link ownsRank} of an expression in SQL. */
export function ownsRankSql({ number, of, isLocal }: Block, rank: string): string {
  return isLocal || of === 1 ? 'true' : `coalesce((${rank} // ${GROUP}) % ${of}, 0) = ${number}`;
}

/** What launchers of tasks set, in this order: the number, its least value, and how many there are. */
const LAUNCHERS = [
  ['SLURM_ARRAY_TASK_ID', 'SLURM_ARRAY_TASK_MIN', 'SLURM_ARRAY_TASK_COUNT'],
  ['SLURM_PROCID', undefined, 'SLURM_NTASKS'],
  ['JOB_COMPLETION_INDEX', undefined, 'JOB_COMPLETIONS'],
] as const;

/** `K/N` from 0, with `,local`, or `local`; undefined if it is neither. */
export function parseBlock(text: string): Block | typeof LOCAL | undefined {
  if (text === LOCAL) return LOCAL;
  const [, number, of, local] = /^(\d{1,6})\/(\d{1,6})(,local)?$/.exec(text) ?? [];
  if (number === undefined || Number(number) >= Number(of)) return undefined;
  return { number: Number(number), of: Number(of), isLocal: local !== undefined };
}

/** That of the task in whose environment this runs; undefined: no launcher of tasks is known there. */
export function blockOfTask(env: Readonly<Record<string, string | undefined>>): Block | undefined {
  for (const [number, least, count] of LAUNCHERS) {
    const [at, of] = [Number(env[number]) - Number((least && env[least]) ?? 0), Number(env[count])];
    if (env[number] !== undefined && Number.isInteger(at) && at >= 0 && at < of)
      return { number: at, of, isLocal: false };
  }
  return undefined;
}
