import { statSync } from 'node:fs';
import { join } from 'node:path';
import { criterionText } from '../../../findings/compare/bisect/criterion.js';
import { evidenceOf } from '../../../findings/compare/bisect/judge-commit.js';
import { judgeHead, type MeasuredLaunch } from '../../../findings/flows/bisect/judge-head.js';
import { lockSession } from '../../../findings/flows/bisect/lock.js';
import { describeBisection } from '../../../findings/flows/bisect/report.js';
import {
  bisectStoreFile,
  checkComparable,
  judgementsOf,
  keepJudgement,
  openSession,
  readSession,
} from '../../../findings/flows/bisect/session.js';
import { measureRun } from '../../../findings/flows/measure-run.js';
import { openRepository } from '../../../git/repository.js';
import { ingest } from '../../../ingest/ingest.js';
import { storeToOpen } from '../../../ingest/store-to-open.js';
import { MbfError } from '../../../model/errors.js';
import type { BisectReportResult } from '../../../model/results/bisect.js';
import type { TriageResult } from '../../../model/results/compare.js';
import { bisectDocument } from '../../../report/compare/bisect-document.js';
import { wordedCheck } from '../../../report/compare/check-reason.js';
import { detectableWords } from '../../../report/compare/detectable-words.js';
import { wordedJudgement } from '../../../report/compare/judgement-words.js';
import { triageDocument } from '../../../report/compare/triage-document.js';
import { summaryText } from '../../../report/verdict/cause-words.js';
import { worded } from '../../../report/words/worded.js';
import { openWithoutTables } from '../../../store/open-store.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT_OF_JUDGEMENT } from '../../exit-codes.js';
import { resolveMeasured } from '../../golden-operand.js';
import { openStore } from '../../open-store.js';
import { count, duration, flag, HTML, MARKDOWN, misuse, operand, option, text } from '../../options.js';
import { INGEST_RESOURCES } from '../../path-store.js';
import { Session } from '../../session.js';
import { JUDGING, judgedBy } from './triage.js';

const run = defineVerb({
  name: 'bisect run',
  operands: {
    command: operand('<command...>', 'the launch command, after --; it writes to $MBF_OUTPUT_DIR, or prints its log'),
  },
  options: {
    ...JUDGING,
    mostRuns: option('--runs <n>', 'launches of a commit while the result is undecided', launches, '1'),
    timeoutMs: option('--timeout <time>', 'end a launch after this, such as 30m; what it wrote is judged', duration),
    output: option('--output <dir>', 'a folder the command writes to by itself; what it writes there is collected'),
    quiet: flag('-q, --quiet', 'do not repeat what the command prints'),
  },
  async ask({ command, criterion, mostRuns, timeoutMs, output, quiet, ...given }, session): Promise<TriageResult> {
    const { env, err, echo } = session.context;
    const repository = await openRepository('.', env);
    const by = await judgedBy(given, session);
    const { golden, allowed } = by;
    const bisection = await openSession(repository, {
      schema: 'mbforensics/bisect-session@1',
      criterion: criterionText(criterion),
      golden: given.golden,
      like: given.like ?? null,
      tolerance: given.tolerance ?? null,
      allowed,
      command,
      started_at: new Date().toISOString(),
    });
    const { db } = bisectStoreFile(repository);
    const unlock = lockSession(bisection.directory);
    session.keep({ close: async () => unlock() });
    const goldenEvidence = evidenceOf(golden.runs);
    const judged = await judgeHead({
      ...{
        store: session.keep(await openWithoutTables()),
        repository,
        session: bisection,
        command,
        criterion,
        ...by,
        mostRuns,
        timeoutMs,
        output,
        env,
      },
      echo: quiet ? () => {} : echo,
      begin: ({ checks }) => {
        const detects = detectableWords(checks, goldenEvidence);
        if (detects !== null) err(`${detects}\n`);
      },
      undecided: (attempt, unsure) =>
        err(`run ${attempt} of ${mostRuns} is undecided: ${wordedJudgement(unsure, goldenEvidence).reason}\n`),
      measure: (...launch) => measureLaunch(db, ...launch),
    });
    const { commit, runs } = judged;
    const worded = wordedJudgement(judged, goldenEvidence);
    const { judgement, reason, evidence, checks, settings } = worded;
    // What cannot be read of one commit usually cannot be of the next ones: once is enough.
    const known = new Set(
      (await judgementsOf(bisection.directory)).flatMap((one) => one.evidence.map(({ text: words }) => words)),
    );
    await keepJudgement(bisection, {
      schema: 'mbforensics/bisect-judgement@1',
      sha: commit.sha,
      subject: commit.subject,
      ...{ judgement, reason, evidence, checks, settings, runs },
      is_comparable: judged.why.code !== 'not_comparable',
      judged_at: new Date().toISOString(),
    });
    await checkComparable(bisection);
    return {
      schema: 'mbforensics/triage@1',
      ...worded,
      evidence: evidence.filter((one) => one.source !== 'files' || !known.has(one.text)),
      criterion: criterionText(criterion),
      run: runs.join(', '),
      commit: commit.sha,
      golden: golden.name,
    };
  },
  document: triageDocument,
  exitCode: ({ judgement }) => EXIT_OF_JUDGEMENT[judgement],
  judges: true,
});

const report = defineVerb({
  name: 'bisect report',
  options: {
    repo: option('--repo <dir>', 'the repository', text, '.'),
    session: option('--session <id>', 'which bisection; default: the one judged last'),
    markdown: MARKDOWN,
    html: HTML,
  },
  async ask({ repo, ...given }, session): Promise<BisectReportResult> {
    const repository = await openRepository(repo, session.context.env);
    const bisection = await readSession(repository, given.session);
    const { db, exists } = bisectStoreFile(repository);
    if (!exists) throw new MbfError('MBF1004', 'the store of the bisection is gone', { file: db });
    const inDb = new Session(session.context, { ...session.common, db }, session.program);
    const report = await describeBisection(
      session.keep(await openWithoutTables()),
      repository,
      bisection,
      async (name) => (await resolveMeasured(`run:${name}`, inDb)).runs[0]!,
    );
    return { ...worded(report), checks: report.checks.map(wordedCheck) };
  },
  document: (result: BisectReportResult, _, { unicode }) => bisectDocument(result, { unicode }),
  reports: {
    html: async (result) =>
      (await import('../../report-page.js')).subjectPage('bisection', result.criterion, 'bisect report', {
        bisection: result,
        history: null,
      }),
  },
});

export const verb = defineVerb({
  name: 'bisect',
  lakeless: true,
  verbs: [run, report],
});

function launches(text: string, name: string): number {
  const most = count(text, name);
  if (most === 0) throw misuse('--runs 0 would judge nothing');
  return most;
}

/** Ingests what a launch wrote into the store of the bisection, and measures it. */
async function measureLaunch(db: string, directory: string, run: string, commit: string): Promise<MeasuredLaunch> {
  const ingested = storeToOpen(db, { mode: 'write', ...INGEST_RESOURCES });
  const log = join(directory, 'launch.log');
  let unreadable: readonly string[];
  try {
    const question = { store: ingested, paths: [directory], run, commit, now: new Date() };
    const { sources } = await ingest(question);
    const isRead = sources.some(({ status }) => status === 'ingested' || status === 'unchanged');
    // A command that prints nothing leaves an empty log: not a problem if other files can be read.
    const isQuiet = (path: string): boolean => isRead && path === 'launch.log' && statSync(log).size === 0;
    unreadable = sources.flatMap(({ path, error }) =>
      error === null || isQuiet(path) ? [] : [`${path} ${error.text}`],
    );
    if (!isRead) return { measurement: undefined, unreadable };
  } finally {
    await ingested.close();
  }
  const store = await openStore(db, { mode: 'read' });
  try {
    const row = (await store.all('store.runs', { run_id: null })).find(({ name }) => name === run);
    if (row === undefined) throw new Error(`run ${run} was ingested and is not in ${db}`);
    const measurement = await measureRun(store, row.run_id, run, { summaryOf: summaryText });
    return { measurement, unreadable };
  } finally {
    await store.close();
  }
}
