/**
 * The launch of a run that a file belongs to, from names: Slurm puts the job id into the names of logs, nemo-run and
 * torchrun count restarts. A file without such a name belongs to the first launch; its parser finds further ones inside
 * the file.
 */

/** Groups `job` and `restart`, either of which may be missing. */
export const LAUNCH_NAMES: readonly RegExp[] = [
  // Logs of nemo-run: log-<account>-<job name>_<job id>[_<host>]_<restart>.out
  /(?:^|\/)(?:log|sbatch)[-_][^/]{1,200}?_(?<job>\d{4,12})(?:_[A-Za-z][\w.-]{0,60})?_(?<restart>\d{1,3})\.(?:out|err)$/,
  // Torchrun's directory of an attempt.
  /(?:^|\/)attempt_(?<restart>\d{1,3})\//,
  // Slurm's default name.
  /(?:^|\/)slurm-(?<job>\d{1,12})(?:[_.-][\w.-]{0,60})?\.(?:out|err|log|txt)$/,
  // <job name>-%j of sbatch. Not a date: 20251118.
  /(?:^|[/_.-])(?!(?:19|20)\d{6}\.)(?<job>\d{5,10})\.(?:out|err)$/,
];

function launchOf(displayPath: string): { readonly job: number; readonly restart: number } | undefined {
  const path = displayPath.replaceAll('\\', '/').replace(/\.(?:gz|zst|zstd)$/i, '');
  for (const pattern of LAUNCH_NAMES) {
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
