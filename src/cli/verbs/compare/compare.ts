import type { MegatronOptions } from '../../../findings/compare/presets/megatron-lm.js';
import { compareWithGolden } from '../../../findings/flows/compare-with-golden.js';
import { parseAllowedChanges } from '../../../findings/measure/contract.js';
import { parseTolerances } from '../../../findings/measure/tolerances.js';
import { openRepository } from '../../../git/repository.js';
import { type CompareResult, PRESETS, type Preset } from '../../../model/results/compare.js';
import { compareDocument } from '../../../report/compare/compare-document.js';
import { compareJunit } from '../../../report/compare/compare-junit.js';
import { compareSarif } from '../../../report/compare/compare-sarif.js';
import { wordedComparison } from '../../../report/compare/worded-comparison.js';
import { toJson } from '../../../report/json.js';
import { openWithoutTables } from '../../../store/open-store.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT_OF_VERDICT } from '../../exit-codes.js';
import { resolveGolden, resolveMeasured } from '../../golden-operand.js';
import {
  ALLOW_CHANGE,
  choice,
  countOrAll,
  flag,
  MARKDOWN,
  misuse,
  operand,
  option,
  required,
  TOLERANCE,
  type Values,
} from '../../options.js';
import { readUpstreamTest, testNextTo } from '../../upstream-test.js';

/** Files that verbs with checks write besides their answer. */
export const CHECK_FILES = {
  markdown: MARKDOWN,
  junit: option('--junit <file>', 'also write it as JUnit XML'),
  sarif: option('--sarif <file>', 'also write it as SARIF'),
};
export const CHECK_REPORTS = {
  junit: compareJunit,
  sarif: (result: Parameters<typeof compareSarif>[0]) => toJson(compareSarif(result)),
};

const OPTIONS = {
  golden: required(
    '--golden <golden>',
    'golden values: a name (see `golden list`), a golden file, or another run',
    'compare with what? --golden NAME, FILE or RUN',
  ),
  preset: choice('--preset <rules>', 'rules of upstream to apply', PRESETS, 'default'),
  metrics: option('--metrics <list>', 'of --preset mlm: judge these metrics, such as "lm loss,num-zeros"'),
  deterministic: flag('--deterministic', 'of --preset mlm: losses and tokens must be equal'),
  modelConfig: option(
    '--model-config <file>',
    "of --preset mlm: the test's model_config.yaml, which has both (default: the one next to the golden file)",
  ),
  tolerance: TOLERANCE,
  allowChange: ALLOW_CHANGE,
  force: flag('--force', 'compare although the contract differs: model, workload, precision, device or layout'),
  repo: option('--repo <dir>', 'the repository of both commits, to name what changed in it'),
  limit: option('--limit <n>', 'call sites to show; 0 = all', countOrAll, '6'),
  ...CHECK_FILES,
};

export const verb = defineVerb({
  name: 'compare',
  operands: {
    run: operand('[run]', 'a run of the store, a path, or a golden file; default: the run ingested last'),
  },
  options: OPTIONS,
  async ask({ run, preset, allowChange, force, repo, ...given }, session): Promise<CompareResult> {
    const tolerances = parseTolerances(given.tolerance);
    const asked = await testOf(preset, given);
    const golden = await resolveGolden(given.golden, session);
    const current = await resolveMeasured(run, session);
    session.hasFailed = golden.failed.length + current.failed.length > 0;
    const input = {
      golden: golden.runs,
      goldenName: golden.name,
      goldenOrigin: golden.origin,
      current: current.runs,
      currentOrigin: current.origin,
      tolerances,
      allowed: parseAllowedChanges(allowChange),
      isWithoutSettings: golden.upstream !== null || current.upstream !== null,
      force,
    };
    const repository = repo === undefined ? undefined : await openRepository(repo, session.context.env);
    const rules = session.keep(await openWithoutTables());
    const judged = await compareWithGolden(rules, preset, input, golden, current, repository, asked.test);
    return wordedComparison({ ...judged, notes: [...judged.notes, ...asked.notes] });
  },
  document: (result, { limit }) => compareDocument(result, { limit }),
  reports: { junit: (result) => CHECK_REPORTS.junit(result), sarif: (result) => CHECK_REPORTS.sarif(result) },
  exitCode: ({ verdict }) => EXIT_OF_VERDICT[verdict],
});

/** What `--metrics`, `--deterministic` and the test's own file ask for. Throws MBF1001 with another preset. */
async function testOf(
  preset: Preset,
  given: Pick<Values<typeof OPTIONS>, 'golden' | 'metrics' | 'deterministic' | 'modelConfig'>,
): Promise<{ readonly test: MegatronOptions; readonly notes: readonly string[] }> {
  const { golden, metrics, deterministic, modelConfig } = given;
  if (preset !== 'mlm') {
    if (metrics !== undefined || deterministic || modelConfig !== undefined)
      throw misuse('--metrics, --deterministic and --model-config are for --preset mlm');
    return { test: {}, notes: [] };
  }
  const file = modelConfig ?? testNextTo(golden);
  const test = file === undefined ? undefined : await readUpstreamTest(file);
  const names = metrics?.split(',').map((name) => name.trim());
  const isExact = deterministic || (test?.deterministic ?? false);
  const notes =
    test === undefined
      ? []
      : [
          `${file}: judged are ${(names ?? test.metrics).join(', ')}${isExact ? ', and losses and tokens must be equal' : ''}`,
        ];
  return { test: { metrics: names ?? test?.metrics, deterministic: isExact }, notes };
}
