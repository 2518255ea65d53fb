import { existsSync, readFileSync } from 'node:fs';
import { writeGoldenDocument } from '../../../../parsers/index.js';
import { judgeGate } from '../../../findings/compare/gate.js';
import { compareWithGolden } from '../../../findings/flows/compare-with-golden.js';
import { parseAllowedChanges } from '../../../findings/measure/contract.js';
import { parseTolerances } from '../../../findings/measure/tolerances.js';
import { openRepository } from '../../../git/repository.js';
import { MbfError } from '../../../model/errors.js';
import { pushAll } from '../../../model/lists.js';
import type { Measurement } from '../../../model/measurement.js';
import type { GateResult, GateUpdateResult } from '../../../model/results/compare.js';
import { compareJunit } from '../../../report/compare/compare-junit.js';
import { compareMarkdown } from '../../../report/compare/compare-markdown.js';
import { compareSarif } from '../../../report/compare/compare-sarif.js';
import { gateText, gateUpdateText } from '../../../report/compare/gate-text.js';
import { baselineLines, wordedGate } from '../../../report/compare/worded-gate.js';
import { openWithoutTables } from '../../../store/open-store.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { checkCompleted, goldenDocumentFile, resolveMeasured } from '../../golden-operand.js';
import { ALLOW_CHANGE, flag, operand, option, required, TOLERANCE } from '../../options.js';
import { writeWhole } from '../../output-file.js';
import type { Session } from '../../session.js';

/** More repetitions say no more. */
const MOST_RUNS = 12;

export const verb = defineVerb({
  name: 'gate',
  group: 'Compare',
  summary: 'judge a run in CI by a baseline file: OOM, peak by rank and component, step time, allocator retries',
  operands: { operands: operand('<run...>', 'runs of one commit, judged together: paths, or runs of the store') },
  options: {
    baseline: required(
      '--baseline <file>',
      'golden values in a file, kept in the repository; --update makes it',
      'compare with what? --baseline FILE',
    ),
    update: flag('--update', 'write the runs as the new baseline instead of judging them'),
    append: flag('--append', 'with --update: add the runs to those of the file, as repetitions'),
    tolerance: TOLERANCE,
    allowChange: ALLOW_CHANGE,
    strict: flag('--strict', 'a change within the noise is undecided (3), not a warning'),
    force: flag('--force', 'with --update: although a run did not come to its end'),
    repo: option('--repo <dir>', 'the repository of both commits, to name what changed in it'),
    markdown: option('--markdown <file>', 'also write it as Markdown, for a pull request; - is standard output'),
    junit: option('--junit <file>', 'also write it as JUnit XML'),
    sarif: option('--sarif <file>', 'also write it as SARIF, with the line of a suspect or of the baseline'),
  },
  examples: [
    'gate runs/ci --baseline tests/memory-baseline.json',
    'gate runs/ci --baseline tests/memory-baseline.json --junit gate.xml --sarif gate.sarif --markdown gate.md',
    'gate runs/ci --baseline tests/memory-baseline.json --tolerance memory=1%,component:activation=3%,alloc_retries=10',
    'gate runs/again --baseline tests/memory-baseline.json --update --append',
  ],
  async ask({ operands, baseline, update, append, ...given }, session): Promise<GateResult | GateUpdateResult> {
    const tolerances = parseTolerances(given.tolerance);
    if (append && !update) throw new MbfError('MBF1001', '--append adds to the baseline: write --update --append');
    if (update && [given.markdown, given.junit, given.sarif].some((file) => file !== undefined))
      throw new MbfError('MBF1001', '--update judges nothing: there is no report to write');
    if (!update && !existsSync(baseline))
      throw new MbfError('MBF1003', 'there is no baseline yet; --update makes it of these runs', { file: baseline });
    const golden = !update || (append && existsSync(baseline)) ? goldenDocumentFile(baseline) : undefined;
    const runs: Measurement[] = [];
    for (const one of operands) {
      const measured = await resolveMeasured(one, session);
      session.hasFailed ||= measured.failed.length > 0;
      pushAll(runs, measured.runs);
    }
    if (golden === undefined || update) {
      if (!given.force) checkCompleted(runs);
      return updated(baseline, [...(golden?.runs ?? []), ...runs]);
    }
    const input = {
      golden: golden.runs,
      goldenName: golden.name,
      goldenOrigin: golden.origin,
      current: runs,
      currentOrigin: 'run',
      tolerances,
      allowed: parseAllowedChanges(given.allowChange),
      isWithoutSettings: golden.upstream !== null,
      force: false,
    } as const;
    const current = { name: runs[0]!.run, runs, upstream: null };
    const repository = await repositoryOf(given.repo, session);
    const rules = session.keep(await openWithoutTables());
    const judged = await compareWithGolden(rules, 'default', input, golden, current, repository);
    return wordedGate(judged, judgeGate(judged, given), {
      file: baseline,
      lines: baselineLines(readFileSync(baseline, 'utf8')),
    });
  },
  render: (result) => (isUpdate(result) ? gateUpdateText(result) : gateText(result)),
  reports: {
    markdown: (result) => (isUpdate(result) ? '' : compareMarkdown(result)),
    junit: (result) => (isUpdate(result) ? '' : compareJunit(result, 'gate')),
    sarif: (result) => (isUpdate(result) ? '' : `${JSON.stringify(compareSarif(result, result.baseline), null, 2)}\n`),
  },
  exitCode: (result) => {
    if (isUpdate(result) || result.verdict === 'pass') return EXIT.done;
    return result.verdict === 'regression' ? EXIT.finding : EXIT.undecided;
  },
});

const isUpdate = (result: GateResult | GateUpdateResult): result is GateUpdateResult =>
  result.schema === 'mbforensics/gate-update@1';

const repositoryOf = async (directory: string | undefined, { context }: Session) =>
  directory === undefined ? undefined : openRepository(directory, context.env);

async function updated(file: string, runs: readonly Measurement[]): Promise<GateUpdateResult> {
  const kept = runs.slice(-MOST_RUNS);
  const name = file
    .split('/')
    .at(-1)!
    .replace(/\.json$/i, '');
  const written_at = new Date().toISOString();
  await writeWhole(file, writeGoldenDocument({ schema: 'mbforensics/golden@1', name, written_at, runs: kept }), true);
  return { schema: 'mbforensics/gate-update@1', file, runs: kept.length };
}
