/**
 * What differs between the runs of two snapshots, or of two commits: figures, settings, versions, and what may be why.
 */
import { pushAll } from '../../model/lists.js';
import type { DiffResult } from '../../model/results/diff.js';
import { formatCount } from '../../model/units.js';
import { printable } from '../table.js';
import { hanging } from '../text-pieces.js';
import { checkTable } from './check-table.js';
import { shortCommit } from './check-words.js';
import { changedLines, suspectLines } from './difference-lines.js';

const VALUES_SHOWN = 10;
const SUSPECTS_SHOWN = 5;

/** Checks with a value on both sides, without unchanged parts. */
export function judgedChecks({ checks }: Pick<DiffResult, 'checks'>): DiffResult['checks'] {
  return checks.filter(
    ({ name, status, golden, current }) =>
      status !== 'skipped' && (status !== 'info' || golden !== current) && (status !== 'pass' || !name.includes(':')),
  );
}

export function runDiffLines(result: DiffResult): string[] {
  const { config, env, versions, suspects, commits } = result;
  const judged = judgedChecks(result);
  const lines: string[] = [];
  if (judged.length > 0)
    pushAll(lines, ['', ...checkTable(judged, { preset: 'default', explains: () => false, sides: ['a', 'b'] })]);
  pushAll(lines, [
    ...changedLines('settings', config, VALUES_SHOWN),
    ...changedLines('environment', env, VALUES_SHOWN),
  ]);
  pushAll(lines, changedLines('versions', versions, VALUES_SHOWN));
  if (commits !== null) pushAll(lines, ['', ...commitLines(commits)]);
  if (suspects.length > 0) pushAll(lines, ['', 'suspects', ...suspectLines(result, SUSPECTS_SHOWN)]);
  return lines;
}

function commitLines({ a, b, in_between, changed_files, submodules }: NonNullable<DiffResult['commits']>): string[] {
  const count = (number: number, word: string): string => `${formatCount(number)} ${word}${number === 1 ? '' : 's'}`;
  const moved = submodules.map(
    ({ path, from, to }) =>
      `${printable(path)} ${from === null ? 'added' : shortCommit(from)} → ${to === null ? 'removed' : shortCommit(to)}`,
  );
  return [
    ...hanging(
      `commits   ${shortCommit(a)} → ${shortCommit(b)}: ${count(in_between, 'commit')}, ${count(changed_files, 'changed file')}`,
    ),
    ...moved.map((text) => `          submodule ${text}`),
  ];
}
