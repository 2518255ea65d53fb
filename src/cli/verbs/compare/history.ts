import { bisectStoreFile } from '../../../findings/flows/bisect/session.js';
import { readTrend } from '../../../findings/history/read-trend.js';
import { listCommits } from '../../../git/list-commits.js';
import { openRepository, type Repository } from '../../../git/repository.js';
import { resolveRevision } from '../../../git/resolve-revision.js';
import { MbfError } from '../../../model/errors.js';
import { HISTORY_AXES, HISTORY_METRIC_NAMES, HISTORY_METRICS } from '../../../model/results/history.js';
import { historyDocument } from '../../../report/compare/history-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { choice, countOrAll, flag, HTML, operand, option, share } from '../../options.js';
import type { OpenedStore } from '../../path-store.js';
import type { Session } from '../../session.js';
import { openTargetStore } from '../../target.js';

export const verb = defineVerb({
  name: 'history',
  lakeless: true,
  operands: { path: operand('[path]', 'the runs of a path instead of the store') },
  options: {
    metric: choice('--metric <name>', 'one of', HISTORY_METRIC_NAMES, 'peak_allocated_bytes'),
    by: choice('--by <axis>', 'one point for each (default: commit where every run has one)', HISTORY_AXES),
    bisect: flag('--bisect', 'the runs that `bisect run` launched in the repository, by its history'),
    label: option('--label <label>', 'only runs with this label'),
    repo: option('--repo <dir>', 'a git checkout: order commits by its history instead of by the time of ingestion'),
    from: option('--from <commit>', 'begin here; a commit, or a run'),
    to: option('--to <commit>', 'end here'),
    minChange: option(
      '--min-change <share>',
      'smallest change to report; a change must also exceed the noise',
      share,
      '1%',
    ),
    limit: option('--limit <n>', 'points to list, the last ones; 0 = all (--json: all)', countOrAll, '20'),
    ascii: flag('--ascii', 'draw with ASCII only (default where the locale is not UTF-8)'),
    html: HTML,
    exitCode: flag('--exit-code', 'exit 1 if the last change is for the worse'),
  },
  async ask({ path, metric, by, bisect, label, repo, from, to, minChange }, session) {
    const place = repo ?? (bisect ? '.' : undefined);
    const repository = place === undefined ? undefined : await openRepository(place, session.context.env);
    const opened = await (bisect ? bisectStore(repository!, session) : session.store(path));
    session.note(opened);
    const trend = await readTrend(opened.store, {
      metric,
      by,
      label,
      history: repository === undefined ? undefined : await listCommits(repository),
      from: await commitOf(repository, from),
      to: await commitOf(repository, to),
      minChange,
    });
    return worded(trend);
  },
  document: (result, { ascii, limit }, { unicode }) =>
    historyDocument(result, { ascii: ascii || !unicode, points: limit }),
  reports: {
    html: async (result) =>
      (await import('../../report-page.js')).subjectPage(
        'history',
        HISTORY_METRICS[result.metric].title,
        `history --metric ${result.metric}`,
        { history: result, bisection: null },
      ),
  },
  exitCode: (result, { exitCode }) =>
    exitCode && result.change_points.at(-1)?.is_worse === true ? EXIT.finding : EXIT.done,
});

/** The store of all bisections of a repository. Throws MBF1004 where there was none. */
async function bisectStore(repository: Repository, session: Session): Promise<OpenedStore> {
  const { db, exists } = bisectStoreFile(repository);
  if (!exists) throw new MbfError('MBF1004', 'no bisection has launched a run here', { file: db });
  return session.keep(await openTargetStore(undefined, { ...session.common, db }, session.context));
}

/** What the repository knows under that name, branches and tags included; else it may be the name of a run. */
async function commitOf(repository: Repository | undefined, name: string | undefined): Promise<string | undefined> {
  if (repository === undefined || name === undefined) return name;
  try {
    return await resolveRevision(repository, name);
  } catch (error) {
    if (error instanceof MbfError && error.code === 'MBF1008') return name;
    throw error;
  }
}
