import type { Command } from 'commander';
import {
  allChecks,
  type CompareInput,
  checkInput,
  compareBasis,
  compareRuns,
  finish,
} from '../../findings/compare/compare-runs.js';
import { judgePreset } from '../../findings/compare/judge-preset.js';
import { parseTolerances } from '../../findings/measure/tolerances.js';
import { type CompareResult, type CompareVerdict, PRESETS } from '../../model/compare-results.js';
import { MbfError } from '../../model/errors.js';
import { compareJunit } from '../../report/compare-junit.js';
import { compareMarkdown } from '../../report/compare-markdown.js';
import { compareSarif } from '../../report/compare-sarif.js';
import { compareText } from '../../report/compare-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { type MeasuredRuns, resolveGolden, resolveMeasured } from '../golden-operand.js';
import { oneOf } from '../one-of.js';
import { commitOf } from '../run-diff.js';
import { comparisonOf, grownBetween, suspectsBetween } from '../suspects-of.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { writeReport } from '../write-reports.js';

interface Options extends CommonOptions {
  readonly golden?: string;
  readonly preset: string;
  readonly tolerance?: string;
  readonly force?: boolean;
  readonly repo?: string;
  readonly limit: string;
  readonly markdown?: string;
  readonly junit?: string;
  readonly sarif?: string;
}

const EXIT_OF: Readonly<Record<CompareVerdict, number>> = {
  pass: EXIT.done,
  regression: EXIT.finding,
  undecided: EXIT.undecided,
};

export function registerCompare(program: Command, context: Context): void {
  withCommon(
    program
      .command('compare')
      .description('a run against its golden values: status, memory, components, step time, throughput, loss')
      .argument('[run]', 'a run of the store, a path, or a golden file; default: the run ingested last')
      .option('--golden <golden>', 'golden values: a name (see `golden list`), a golden file, or another run')
      .option('--preset <rules>', `whose rules judge: ${PRESETS.join(', ')}`, 'default')
      .option('--tolerance <list>', 'least relative changes that count, such as memory=1%,time=3%')
      .option('--force', 'compare although model, input, precision or devices differ')
      .option('--repo <dir>', 'the repository of both commits, to name what changed in it')
      .option('--limit <n>', 'call sites to show; 0 = all', '6')
      .option('--markdown <file>', 'also write it as Markdown, for the summary of a job; - is standard output')
      .option('--junit <file>', 'also write it as JUnit XML')
      .option('--sarif <file>', 'also write it as SARIF'),
    [
      'compare night-shift --golden llama3-70b',
      'compare runs/today --golden tests/golden/llama3-70b.json --json',
      'compare runs/today --golden runs/yesterday --repo ~/src/Megatron-Bridge',
      'compare runs/ci --golden golden_values_dev_dgx_h100.json --preset mlm',
      'compare runs/ci --golden golden.json --junit compare.xml --markdown summary.md',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    if (options.golden === undefined) throw new MbfError('MBF1001', 'compare with what? --golden NAME, FILE or RUN');
    const preset = oneOf('--preset', options.preset, PRESETS);
    const tolerances = parseTolerances(options.tolerance);
    const limit = countOption('--limit', options.limit);
    const golden = await resolveGolden(options.golden, options, context);
    const current = await resolveMeasured(operand, options, context);
    const input: CompareInput = {
      golden: golden.runs,
      goldenName: golden.name,
      goldenOrigin: golden.origin,
      current: current.runs,
      currentOrigin: current.origin,
      tolerances,
      force: options.force === true,
    };
    const result = await judge(preset, input, golden, current, options);
    const asText = (one: CompareResult): string => compareText(one, { limit });
    const toStdout = [options.markdown, options.junit, options.sarif].includes('-');
    if (!toStdout) answer(context, options, result, asText);
    await writeReport(options.markdown, () => compareMarkdown(result), context);
    await writeReport(options.junit, () => compareJunit(result), context);
    await writeReport(options.sarif, () => `${JSON.stringify(compareSarif(result), null, 2)}\n`, context);
    process.exitCode = current.failed || golden.failed ? EXIT.input : EXIT_OF[result.verdict];
  });
}

async function judge(
  preset: CompareResult['preset'],
  input: CompareInput,
  golden: MeasuredRuns,
  current: MeasuredRuns,
  options: Options,
): Promise<CompareResult> {
  const [a, b] = [golden.runs[0]!, current.runs[0]!];
  const grown = grownBetween(a, b);
  const comparison = await comparisonOf(options.repo, commitOf(a), commitOf(b), grown.sites);
  const suspects = (verdict: CompareVerdict, direction: 'memory' | 'time') =>
    verdict === 'regression' ? suspectsBetween(a, b, grown, comparison, direction) : [];
  if (preset !== 'default') {
    const { verdict, checks, notes } = judgePreset(preset, golden, current);
    const basis = compareBasis(input);
    const kind = checks.some(({ name, status }) => status === 'regression' && /alloc|reserved/i.test(name))
      ? 'memory'
      : 'time';
    return finish(
      { ...basis, notes: [...basis.notes, ...notes] },
      preset,
      verdict,
      null,
      checks,
      suspects(verdict, kind),
    );
  }
  const first = compareRuns(input);
  if (first.verdict !== 'regression') return first;
  const slower = allChecks(checkInput(input)).some(
    ({ name, status, gate }) => gate && status === 'regression' && !/^(?:step_time|throughput|loss)/.test(name),
  );
  return { ...first, suspects: suspects(first.verdict, slower ? 'memory' : 'time') };
}
