/**
 * The launch of a run that a file belongs to, from names: Slurm puts the job id into the names of logs, nemo-run and
 * torchrun count restarts. A file without such a name belongs to the first launch; its parser finds further ones inside
 * the file.
 */
export interface LaunchRule {
  readonly name: string;
  /** Groups `job` and `restart`, either of which may be missing. */
  readonly pattern: RegExp;
  readonly samples: readonly (readonly [path: string, job: number | null, restart: number | null])[];
}

export const LAUNCH_RULES: readonly LaunchRule[] = [
  {
    name: 'nemo-run log',
    // log-<account>-<job name>_<job id>[_<host>]_<restart>.out
    pattern:
      /(?:^|\/)(?:log|sbatch)[-_][^/]{1,200}?_(?<job>\d{4,12})(?:_[A-Za-z][\w.-]{0,60})?_(?<restart>\d{1,3})\.(?:out|err)$/,
    samples: [
      ['log-account-job.pretrain_1234567_0.out', 1234567, 0],
      ['logs/log-account-job.pretrain_1234567_2.out', 1234567, 2],
      ['log-nlp-nlp.run_5541081_h100-dgx-037_1.out', 5541081, 1],
    ],
  },
  {
    name: "torchrun's directory of an attempt",
    pattern: /(?:^|\/)attempt_(?<restart>\d{1,3})\//,
    samples: [['logs/none_ab12cd/attempt_1/3/stderr.log', null, 1]],
  },
  {
    name: "Slurm's default name",
    pattern: /(?:^|\/)slurm-(?<job>\d{1,12})(?:[_.-][\w.-]{0,60})?\.(?:out|err|log|txt)$/,
    samples: [
      ['slurm-4480228.out', 4480228, null],
      ['logs/slurm-77_3.out', 77, null],
    ],
  },
  {
    name: '<job name>-%j of sbatch',
    // Not a date: 20251118.
    pattern: /(?:^|[/_.-])(?!(?:19|20)\d{6}\.)(?<job>\d{5,10})\.(?:out|err)$/,
    samples: [
      ['llama3-1234567.out', 1234567, null],
      ['train_20251118.out', null, null],
    ],
  },
];

function launchOf(displayPath: string): { readonly job: number; readonly restart: number } | undefined {
  const path = displayPath.replaceAll('\\', '/').replace(/\.(?:gz|zst|zstd)$/i, '');
  for (const { pattern } of LAUNCH_RULES) {
    const groups = pattern.exec(path)?.groups;
    if (groups !== undefined) return { job: Number(groups['job'] ?? 0), restart: Number(groups['restart'] ?? 0) };
  }
  return undefined;
}

/** The launch of each file, from 1, by job id and restart among all files of a run: ids grow with time. */
export function attemptsFromNames(displayPaths: readonly string[]): number[] {
  const launches = displayPaths.map(launchOf);
  const keys = [...new Set(launches.flatMap((launch) => (launch === undefined ? [] : [keyOf(launch)])))].sort();
  return launches.map((launch) => (launch === undefined ? 1 : keys.indexOf(keyOf(launch)) + 1));
}

function keyOf({ job, restart }: { readonly job: number; readonly restart: number }): string {
  return `${String(job).padStart(12, '0')} ${String(restart).padStart(3, '0')}`;
}
