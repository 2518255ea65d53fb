/** The launches of a run: what differs, how each ended, what failed first, how much memory it took. */
import { getOrAdd } from '../../model/group-by.js';
import type { LogRun } from '../../model/results/log.js';
import { type Column, column, counted, type MaybePart, names, section, t, table } from '../document/document.js';
import { excerpt } from '../document/values.js';
import { endingCounts, endingWord } from '../launch-text.js';
import { countOr, rankList, rankWords } from '../text-pieces.js';

type Launch = LogRun['attempts'][number];

/** Settings that have a column. */
const MOST_SETTINGS = 3;
const MOST_ROWS = 8;

/** Launches that look the same, in one row. */
interface Group {
  readonly first: Launch;
  readonly launches: Launch[];
}

function failedFirst({ ending, ending_rank: rank, ending_host: host }: Launch): string {
  if (ending === 'finished') return '';
  return [...(rank === null ? [] : [rankWords([rank])]), ...(host === null ? [] : [`on ${host}`])].join(' ');
}

const iterationsOf = ({ iteration_lines: lines, first_iteration: from, last_iteration: to }: Launch): string =>
  lines === 0 ? 'none' : `${countOr(from)} to ${countOr(to)}`;

const settingText = (value: string | null | undefined): string =>
  value === null ? 'unset' : value === undefined ? '' : excerpt(value);

export function launchSection({ attempts }: Pick<LogRun, 'attempts'>): MaybePart {
  const isOom = ({ ending }: Launch): boolean => ending === 'oom';
  const ordered = [...attempts.filter(isOom), ...attempts.filter((launch) => !isOom(launch))];
  const settings = [...new Set(attempts.flatMap((launch) => Object.keys(launch.settings)))];
  const shownSettings = settings.slice(0, MOST_SETTINGS);
  const groups = new Map<string, Group>();
  for (const launch of ordered) {
    const { ending, peak_reserved_bytes: reserved, peak_allocated_bytes: allocated } = launch;
    const values = shownSettings.map((name) => settingText(launch.settings[name]));
    const key = [ending, failedFirst(launch), reserved, allocated, iterationsOf(launch), ...values].join('\n');
    getOrAdd(groups, key, (): Group => ({ first: launch, launches: [] })).launches.push(launch);
  }
  const all = [...groups.values()];
  const leftOut = all.slice(MOST_ROWS).flatMap(({ launches }) => launches);
  const more = settings.length - shownSettings.length;
  const has = (name: 'peak_reserved_bytes' | 'peak_allocated_bytes'): false | Column<Group> =>
    attempts.some((launch) => launch[name] !== null) && column(name, ({ first }) => first[name]);
  return section(
    t`${counted(attempts.length, 'launch', 'launches')}: ${endingCounts(ordered)}`,
    { isFolded: true },
    table(
      all.slice(0, MOST_ROWS),
      [
        column('launch', ({ launches }) =>
          rankList(
            launches.map(({ attempt }) => attempt),
            4,
          ),
        ),
        ...shownSettings.map((name) =>
          names<Group>(name, ({ first }) => settingText(first.settings[name]), { title: name }),
        ),
        column('ended', ({ first }) => endingWord(first.ending)),
        attempts.some((launch) => failedFirst(launch) !== '') &&
          column('failed_first', ({ first }) => failedFirst(first)),
        has('peak_reserved_bytes'),
        has('peak_allocated_bytes'),
        column('iterations', ({ first }) => iterationsOf(first), { align: 'right' }),
      ],
      {
        key: 'launches',
        notes: [
          leftOut.length > 0 &&
            t`${counted(leftOut.length, 'other launch', 'other launches')}: ${endingCounts(leftOut)}; --json=full lists all`,
          more > 0 && t`${counted(more, 'other setting')} that differ: --json=full`,
        ],
      },
    ),
  );
}
