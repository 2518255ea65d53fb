import type { DiagnoseEachResult, DiagnoseResult } from '../../../model/results/common.js';
import { diagnoseDocument, diagnoseDocuments } from '../../../report/start/diagnose-document.js';
import { wordDiagnosis } from '../../../report/verdict/word-verdict.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { CAPACITY, flag, MARKDOWN, misuse, REDACT, RUN } from '../../options.js';
import type { Session } from '../../session.js';

export const verb = defineVerb({
  name: 'diagnose',
  operands: { run: RUN },
  options: {
    full: flag('--full', 'all evidence: each test with its numbers, replay, ranks, launches, alternatives'),
    each: flag('--each', 'each path is a run of its own'),
    capacity: CAPACITY,
    exitCode: flag('--exit-code', 'exit 1 for an OOM, 3 if the cause is undecided'),
    markdown: MARKDOWN,
    ...REDACT,
  },
  async ask({ run, each, capacity, redact }, session): Promise<DiagnoseResult | DiagnoseEachResult> {
    if (!each) return diagnosed(run, capacity?.bytes, session);
    if (run.length === 0) throw misuse('--each needs paths');
    const runs: DiagnoseResult[] = [];
    for (const path of run) {
      runs.push(await diagnosed([path], capacity?.bytes, session));
      await session.close();
    }
    const paths = redact ? runs.map((each) => each.run) : run;
    return { schema: 'mbforensics/diagnose-each@1', paths, runs };
  },
  document(result, { run, db, lake, full, capacity, redact }) {
    if ('runs' in result) return diagnoseDocuments(result.schema, result.paths, result.runs);
    const target = { operands: redact ? [result.run] : run, db, lake, capacity: capacity?.text, full };
    return diagnoseDocument(result, target);
  },
  reports: {
    markdown: (result) =>
      'runs' in result
        ? diagnoseDocuments(result.schema, result.paths, result.runs, true)
        : diagnoseDocument(result, { full: true }),
  },
  exitCode(result, { exitCode }) {
    if (!exitCode) return EXIT.done;
    const verdicts = 'runs' in result ? result.runs.flatMap((one) => one.verdicts) : result.verdicts;
    if (verdicts.some(({ cause }) => cause !== 'undecided' && cause !== 'not_oom')) return EXIT.finding;
    return verdicts.some(({ cause }) => cause === 'undecided') ? EXIT.undecided : EXIT.done;
  },
});

async function diagnosed(
  operands: readonly string[],
  capacityBytes: number | undefined,
  session: Session,
): Promise<DiagnoseResult> {
  return wordDiagnosis(await session.diagnosis(operands, { capacityBytes }));
}
