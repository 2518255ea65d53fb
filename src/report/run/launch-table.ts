/** The launches of a run as a table: what differs, how each ended, what failed first, how much memory it took. */
import { getOrAdd } from '../../model/group-by.js';
import type { LogRun } from '../../model/results/log.js';
import { ENDINGS, endingCounts } from '../launch-text.js';
import { left, right, tableOf } from '../table.js';
import { bytesOr, counted, countOr, rankList, rankWords, shortText } from '../text-pieces.js';

type Launch = LogRun['attempts'][number];

/** Settings that have a column. */
const MOST_SETTINGS = 3;

/** Launches that look the same, in one row. */
interface Group {
  readonly first: Launch;
  readonly launches: Launch[];
}

/** Those with an OOM first, then in their order. */
export function launchesInOrder(launches: readonly Launch[]): Launch[] {
  const isOom = ({ ending }: Launch): boolean => ending === 'oom';
  return [...launches.filter(isOom), ...launches.filter((launch) => !isOom(launch))];
}

function failedFirst({ ending, ending_rank: rank, ending_host: host }: Launch): string {
  if (ending === 'finished' || (rank === null && host === null)) return '';
  return `${rank === null ? 'rank unknown' : rankWords([rank])}${host === null ? '' : ` on ${shortText(host, 20)}`}`;
}

const iterationsOf = ({ iteration_lines: lines, first_iteration: from, last_iteration: to }: Launch): string =>
  lines === 0 ? 'none' : `${countOr(from)} to ${countOr(to)}`;

const settingText = (value: string | null | undefined): string =>
  value === null ? 'unset' : shortText(value ?? '-', 30);

/** `most`: rows; what is left out is counted below them. */
export function launchTable({ attempts }: Pick<LogRun, 'attempts'>, most: number, indent: string): string[] {
  const names = [...new Set(attempts.flatMap(({ settings }) => Object.keys(settings)))];
  const shownNames = names.slice(0, MOST_SETTINGS);
  const groups = new Map<string, Group>();
  for (const launch of launchesInOrder(attempts)) {
    const { ending, peak_reserved_bytes: reserved, peak_allocated_bytes: allocated } = launch;
    const settings = shownNames.map((name) => settingText(launch.settings[name]));
    const key = [ending, failedFirst(launch), reserved, allocated, iterationsOf(launch), ...settings].join('\n');
    getOrAdd(groups, key, (): Group => ({ first: launch, launches: [] })).launches.push(launch);
  }
  const all = [...groups.values()];
  const shown = all.slice(0, most);
  const lines = tableOf(
    shown,
    [
      left('launch', ({ launches }) =>
        rankList(
          launches.map(({ attempt }) => attempt),
          4,
        ),
      ),
      ...shownNames.map((name) => left<Group>(shortText(name, 30), ({ first }) => settingText(first.settings[name]))),
      left('ended', ({ first }) => ENDINGS[first.ending]),
      attempts.some((launch) => failedFirst(launch) !== '') && left('failed first', ({ first }) => failedFirst(first)),
      attempts.some(({ peak_reserved_bytes: bytes }) => bytes !== null) &&
        right('peak reserved', ({ first }) => bytesOr(first.peak_reserved_bytes)),
      attempts.some(({ peak_allocated_bytes: bytes }) => bytes !== null) &&
        right('peak allocated', ({ first }) => bytesOr(first.peak_allocated_bytes)),
      right('iterations', ({ first }) => iterationsOf(first)),
    ],
    indent,
  ).split('\n');
  const leftOut = all.slice(most).flatMap(({ launches }) => launches);
  if (leftOut.length > 0)
    lines.push(`${indent}and ${counted(leftOut.length, 'other launch')}: ${endingCounts(leftOut)}`);
  const more = names.length - shownNames.length;
  if (more > 0) lines.push(`${indent}${counted(more, 'other setting')} that differ: --json`);
  return lines;
}
