import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CRITERION_FORMS, criterionText, parseCriterion } from '../../findings/compare/bisect/criterion.js';
import { parseTolerances } from '../../findings/measure/tolerances.js';
import { openRepository } from '../../git/repository.js';
import type { TriageResult } from '../../model/compare-results.js';
import { MbfError } from '../../model/errors.js';
import { bisectReportMarkdown, bisectReportText } from '../../report/bisect-report-text.js';
import { toJson } from '../../report/json.js';
import { triageText } from '../../report/triage-text.js';
import { judgeHead } from '../bisect/judge-head.js';
import { describeBisection } from '../bisect/report.js';
import { bisectDirectory, keepJudgement, openSession, readSession, STORE_NAME } from '../bisect/session.js';
import type { Context } from '../context.js';
import { parseCount } from '../count-option.js';
import { resolveGolden, resolveMeasured } from '../golden-operand.js';
import { endJudged } from '../judgement.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { writeReport } from '../write-reports.js';

interface RunOptions extends CommonOptions {
  readonly golden?: string;
  readonly on: string;
  readonly like?: string;
  readonly tolerance?: string;
  readonly runs: string;
  readonly timeout?: string;
  readonly output?: string;
  readonly quiet?: boolean;
}

interface ReportOptions extends CommonOptions {
  readonly session?: string;
  readonly repo: string;
  readonly markdown?: string;
}

export function registerBisect(program: Command, context: Context): void {
  const bisect = program
    .command('bisect')
    .description('find the commit that did it: a judge for `git bisect run`, and what it found');

  withCommon(
    bisect
      .command('run')
      .description(
        'launch the checked-out commit, judge it, and exit as `git bisect run` wants: 0, 1, 125; 255 stops it',
      )
      .argument('<command...>', 'the launch command, after --; it writes to $MBF_OUTPUT_DIR, or prints its log')
      .option('--golden <golden>', 'golden values: a name, a golden file, or a run of a good commit')
      .option('--on <criterion>', `what is hunted: ${CRITERION_FORMS}`, 'oom')
      .option('--like <run>', 'a run that has what is hunted')
      .option('--tolerance <list>', 'least relative changes that count, such as memory=1%,time=3%')
      .option('--runs <n>', 'launches of a commit while they cannot tell', '1')
      .option('--timeout <time>', 'end a launch after this, such as 30m; what it wrote is judged')
      .option('--output <dir>', 'a folder the command writes to by itself; what it writes there is collected')
      .option('-q, --quiet', 'do not repeat what the command prints'),
    [
      'bisect run --golden llama3-70b --on memory --runs 3 -- ./launch.sh',
      'bisect run --golden golden.json --like runs/oom --timeout 40m -- sbatch --wait train.sbatch',
    ],
  )
    .addHelpText(
      'after',
      '\n  $ git bisect start BAD GOOD && git bisect run mbforensics bisect run --golden G -- ./launch.sh\n',
    )
    .action(async (command: string[], options: RunOptions) => {
      if (options.golden === undefined) throw new MbfError('MBF1001', 'judge by what? --golden NAME, FILE or RUN');
      const criterion = parseCriterion(options.on);
      const tolerances = parseTolerances(options.tolerance);
      const mostRuns = parseCount('--runs', options.runs);
      if (mostRuns === 0) throw new MbfError('MBF1001', '--runs 0 would judge nothing');
      const timeoutMs = timeOption(options.timeout);
      const repository = await openRepository('.', process.env);
      const golden = await resolveGolden(options.golden, options, context);
      const hunted =
        options.like === undefined ? null : (await resolveMeasured(options.like, options, context)).runs[0]!;
      const session = await openSession(repository, {
        schema: 'mbforensics/bisect-session@1',
        criterion: criterionText(criterion),
        golden: options.golden,
        like: options.like ?? null,
        tolerance: options.tolerance ?? null,
        command,
        started_at: new Date().toISOString(),
      });
      const db = join(bisectDirectory(repository), STORE_NAME);
      const judged = await judgeHead(
        {
          repository,
          session,
          db,
          command,
          criterion,
          golden,
          hunted,
          tolerances,
          mostRuns,
          timeoutMs,
          output: options.output,
          quiet: options.quiet === true,
        },
        context,
      );
      const { judgement, reason, evidence, checks, commit, runs } = judged;
      await keepJudgement(session, {
        schema: 'mbforensics/bisect-judgement@1',
        sha: commit.sha,
        subject: commit.subject,
        judgement,
        reason,
        evidence,
        checks,
        runs,
        judged_at: new Date().toISOString(),
      });
      const result: TriageResult = {
        schema: 'mbforensics/triage@1',
        judgement,
        criterion: criterionText(criterion),
        reason,
        evidence,
        run: runs.join(', '),
        commit: commit.sha,
        golden: golden.name,
        checks,
      };
      await endJudged(judgement, options.json === true ? toJson(result) : triageText(result));
    });

  withCommon(
    bisect
      .command('report')
      .description('what a bisection found: the commit, its memory by component and site, its hunks and settings')
      .option('--repo <dir>', 'the repository', '.')
      .option('--session <id>', 'which bisection; default: the one judged last')
      .option('--markdown <file>', 'also write it as Markdown; - is standard output'),
    ['bisect report', 'bisect report --markdown culprit.md --json'],
  ).action(async (options: ReportOptions) => {
    const repository = await openRepository(options.repo, process.env);
    const session = readSession(repository, options.session);
    const db = join(bisectDirectory(repository), STORE_NAME);
    if (!existsSync(db)) throw new MbfError('MBF1004', 'the store of the bisection is gone', { file: db });
    const result = await describeBisection(repository, session, db, options, context);
    if (options.markdown !== '-') answer(context, options, result, bisectReportText);
    await writeReport(options.markdown, () => bisectReportMarkdown(result), context);
  });
}

const UNITS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600 };

/** `90`, `90s`, `30m`, `2h` in milliseconds. Throws MBF1001. */
function timeOption(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d{1,7}(?:\.\d{1,3})?)([smh]?)$/.exec(text);
  const seconds = match === null ? 0 : Number(match[1]) * UNITS[match[2]!]!;
  // Beyond this a timer of Node ends at once.
  if (seconds <= 0 || seconds > 2_000_000)
    throw new MbfError('MBF1001', `--timeout ${JSON.stringify(text)} is no time, such as 30m`);
  return 1000 * seconds;
}
