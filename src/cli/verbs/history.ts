import type { Command } from 'commander';
import { readTrend } from '../../findings/history/read-trend.js';
import { listCommits } from '../../git/list-commits.js';
import { openRepository, type Repository } from '../../git/repository.js';
import { resolveRevision } from '../../git/resolve-revision.js';
import { MbfError } from '../../model/errors.js';
import { HISTORY_AXES, HISTORY_METRIC_NAMES } from '../../model/history-results.js';
import { historyText } from '../../report/history-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { oneOf } from '../one-of.js';
import { openTargetStore } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly metric: string;
  readonly by?: string;
  readonly label?: string;
  readonly repo?: string;
  readonly from?: string;
  readonly to?: string;
  readonly minChange: string;
  readonly limit?: string;
  readonly ascii?: boolean;
  readonly exitCode?: boolean;
}

const DEFAULT_WIDTH = 100;
/** Points of the table unless told otherwise; documents have all. */
const SCREEN_POINTS = 20;

export function registerHistory(program: Command, context: Context): void {
  withCommon(
    program
      .command('history')
      .description('one figure of all runs of the store over commits, and the commits at which it took a new level')
      .argument('[path]', 'the runs of a path instead of the store')
      .option('--metric <name>', HISTORY_METRIC_NAMES.join(', '), 'peak_allocated_bytes')
      .option('--by <axis>', 'one point a commit or a run (default: commit where every run has one)')
      .option('--label <label>', 'only runs with this label')
      .option('--repo <dir>', 'a git checkout: order commits by its history instead of by the time of ingestion')
      .option('--from <commit>', 'begin here; a commit, or a run')
      .option('--to <commit>', 'end here')
      .option('--min-change <share>', 'smallest change to report; all have to stand out of the noise as well', '1%')
      .option('--limit <n>', `points to list, the last ones; 0 = all (default: ${SCREEN_POINTS}; --json: all)`)
      .option('--ascii', 'draw with ASCII only (default where the locale is not UTF-8)')
      .option('--exit-code', 'exit 1 if the last change is for the worse'),
    [
      'history',
      'history --metric peak_active_bytes --by commit --repo ~/Megatron-LM',
      'history --metric step_ms --label nightly --min-change 3%',
      'history --metric peak_reserved_bytes --from 3f2a1bc --exit-code',
      'history --metric ooms --by run --json',
    ],
  ).action(async (path: string | undefined, options: Options) => {
    const metric = oneOf('--metric', options.metric, HISTORY_METRIC_NAMES);
    const by = options.by === undefined ? undefined : oneOf('--by', options.by, HISTORY_AXES);
    const minChange = shareOption('--min-change', options.minChange);
    const listed = options.limit === undefined ? SCREEN_POINTS : countOption('--limit', options.limit);
    const repository = options.repo === undefined ? undefined : await openRepository(options.repo, process.env);
    const { store, failed, close } = await openTargetStore(path, options, context);
    try {
      const result = await readTrend(store, {
        metric,
        by,
        label: options.label,
        history: repository === undefined ? undefined : await listCommits(repository),
        from: await commitOf(repository, options.from),
        to: await commitOf(repository, options.to),
        minChange,
      });
      const look = {
        width: Math.max(40, context.terminalColumns ?? DEFAULT_WIDTH),
        ascii: options.ascii ?? !context.unicode,
        points: listed,
      };
      answer(context, options, result, (data) => historyText(data, look));
      if (failed.length > 0) process.exitCode = EXIT.input;
      else if (options.exitCode === true && result.change_points.at(-1)?.is_worse === true)
        process.exitCode = EXIT.finding;
    } finally {
      await close();
    }
  });
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

/** `2%`, `0.5 %` or `0.02`; a bare number of 1 or more is refused, for it could be either. */
function shareOption(name: string, text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*$/.exec(text);
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1);
  if (!(share >= 0 && (share < 1 || match?.[2] === '%')))
    throw new MbfError('MBF1001', `${name} ${JSON.stringify(text)} is no share such as 2% or 0.02`);
  return share;
}
