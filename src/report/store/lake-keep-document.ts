/** What `lake check`, `compact` and `expire` print. */
import { sumOf } from '../../model/lists.js';
import type { LakeCheckResult, LakeCompactResult, LakeExpireResult, LakeProblem } from '../../model/results/lake.js';
import * as d from '../document/document.js';

/** Rows of a table on a screen. */
const MOST_SHOWN = 50;

const PROBLEMS: Readonly<Record<LakeProblem['kind'], string>> = {
  damaged: 'content differs from its name: add the block again',
  double: 'two files of one block: rows are there twice; add the block again',
  mixed: 'blocks of different numbers of blocks: add the run again with --replace',
  not_whole: 'blocks are missing: add them',
  not_finished: 'left by a process that has ended: the next writer or `lake compact` removes or finishes it',
  unknown: 'no file of a lake',
};

/** The runs, then what is wrong. */
export function lakeCheckDocument({ schema, lake, version, runs, problems }: LakeCheckResult): d.Document {
  const more = (all: number) => all > MOST_SHOWN && d.t`${all - MOST_SHOWN} more (--json=full lists all)`;
  return d.document(
    schema,
    '',
    d.paragraph(
      d.t`${d.as('lake', d.code(lake))}, version ${d.as('version', d.shownAs(version, String(version)))}: ${d.counted(runs.length, 'run', 'runs', 'run_count')}, ${d.counted(problems.length, 'problem', 'problems', 'problem_count')}`,
      { style: 'lead', tone: problems.length === 0 ? 'good' : 'bad' },
    ),
    d.table(
      runs.slice(0, MOST_SHOWN),
      [
        d.names('run', ({ run }) => run),
        'blocks',
        d.column('missing', ({ missing }) => ranges(missing), { title: 'missing blocks' }),
        ...(['ranks', 'files', 'bytes'] as const),
      ],
      { key: 'runs', notes: [more(runs.length)] },
    ),
    d.section(
      'Problems',
      {},
      d.table(
        problems.slice(0, MOST_SHOWN),
        ['kind', d.names('path', ({ path }) => path), d.column('what', ({ kind }) => PROBLEMS[kind])],
        { key: 'problems', notes: [more(problems.length)] },
      ),
    ),
  );
}

/** `0, 3–7`. */
function ranges(numbers: readonly number[]): string {
  const parts: [number, number][] = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
}

export function lakeCompactDocument({ schema, lake, runs }: LakeCompactResult): d.Document {
  return d.document(
    schema,
    '',
    d.paragraph(d.t`${d.as('lake', d.code(lake))}: ${d.counted(runs.length, 'run', 'runs', 'run_count')}`),
    d.table(runs, [d.names('run', ({ run }) => run), 'outcome', 'files_before', 'files', 'before_bytes', 'bytes'], {
      key: 'runs',
    }),
  );
}

export function lakeExpireDocument({ schema, lake, level, is_removed: isRemoved, runs }: LakeExpireResult): d.Document {
  const bytes = sumOf(runs.map((run) => run.bytes));
  return d.document(
    schema,
    '',
    d.paragraph(
      d.t`${d.as('lake', d.code(lake))}: rows of ${d.as('level', level)} of ${d.counted(runs.length, 'run', 'runs', 'run_count')}, ${d.as('all_bytes', d.bytes(bytes))}, ${isRemoved ? 'removed' : 'would be removed'}`,
      { style: 'lead' },
    ),
    d.table(
      runs,
      [
        d.names('run', ({ run }) => run),
        d.column('since_us', (run) => run.since_us, { title: 'since', unit: 'clock' }),
        d.column('causes', ({ causes }) => causes.join(', ')),
        ...(['files', 'bytes'] as const),
      ],
      { key: 'runs' },
    ),
    !isRemoved && runs.length > 0 && d.paragraph('--remove removes the files; answers always stay', { style: 'note' }),
  );
}
