/**
 * Which launch of a run a file belongs to, where its name says so: nemo-run's `log-<job>_<job id>_<restart>.out` and torchrun's
 * `attempt_<n>/` count restarts from 0. A file that says nothing begins with the first launch; further ones inside it are found by
 * its parser.
 */
export interface AttemptRule {
  readonly name: string;
  readonly pattern: RegExp;
  readonly samples: readonly (readonly [path: string, attempt: number])[];
}

export const ATTEMPT_RULES: readonly AttemptRule[] = [
  {
    name: 'nemo-run log',
    pattern: /(?:^|\/)(?:log|sbatch)[-_][^/]+_\d{2,12}_(\d{1,3})\.(?:out|err)$/,
    samples: [
      ['log-account-job.pretrain_1234567_0.out', 1],
      ['logs/log-account-job.pretrain_1234567_2.out', 3],
    ],
  },
  {
    name: "torchrun's directory of an attempt",
    pattern: /(?:^|\/)attempt_(\d{1,3})\//,
    samples: [['logs/none_ab12cd/attempt_1/3/stderr.log', 2]],
  },
];

/** From 1. `displayPath` is `/`-separated; compression suffixes are ignored. */
export function attemptFromName(displayPath: string): number {
  const path = displayPath.replaceAll('\\', '/').replace(/\.(?:gz|zst|zstd)$/i, '');
  for (const { pattern } of ATTEMPT_RULES) {
    const match = pattern.exec(path);
    if (match !== null) return Number(match[1]) + 1;
  }
  return 1;
}
