import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { gateVerdict, isGateOf } from '../../../findings/compare/gate.js';
import { compareWithGolden } from '../../../findings/flows/compare-with-golden.js';
import { compareContract, parseAllowedChanges } from '../../../findings/measure/contract.js';
import { isMetric, METRIC_NAMES, parseTolerances } from '../../../findings/measure/tolerances.js';
import { openRepository } from '../../../git/repository.js';
import { MbfError } from '../../../model/errors.js';
import type { CompareCheck } from '../../../model/results/compare.js';
import type { GateResult } from '../../../model/results/gate.js';
import { gateDocument, gateSummary } from '../../../report/compare/gate-document.js';
import { wordedComparison } from '../../../report/compare/worded-comparison.js';
import { openWithoutTables } from '../../../store/open-store.js';
import type { Store } from '../../../store/store.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT_OF_VERDICT } from '../../exit-codes.js';
import { demandEnded, documentText } from '../../golden-document.js';
import { goldenDocumentFile, type MeasuredRuns, resolveMeasured } from '../../golden-operand.js';
import { ALLOW_CHANGE, flag, misuse, operand, option, required, TOLERANCE } from '../../options.js';
import { writeWhole } from '../../output-file.js';
import { CHECK_FILES, CHECK_REPORTS } from './compare.js';

/** With six runs the noise is what they show; more make the file larger and change little. */
const MOST_RUNS = 12;

export const verb = defineVerb({
  name: 'gate',
  operands: {
    run: operand('[run...]', 'a run, or several repeats of it: names or paths; default: the run ingested last'),
  },
  options: {
    baseline: required('--baseline <file>', 'the baseline: a golden file', 'by which baseline? --baseline FILE'),
    tolerance: TOLERANCE,
    allowChange: ALLOW_CHANGE,
    warn: option('--warn <metrics>', `metrics that do not fail the job: ${METRIC_NAMES}, loss`, warnedMetrics),
    strict: flag('--strict', 'undecided where a figure is within the noise (exit code 3, not 0)'),
    update: flag('--update', 'write the runs as the new baseline'),
    append: flag('--append', `with --update: add the runs as repeats; the last ${MOST_RUNS} are kept`),
    force: flag('--force', 'judge although the contract differs; with --update, keep any run'),
    repo: option('--repo <dir>', 'the repository of both commits, to name what changed in it'),
    ...CHECK_FILES,
  },
  async ask({ run: operands, baseline: file, update, append, force, strict, repo, ...given }, session) {
    if (append && !update) throw misuse('--append goes with --update');
    const tolerances = parseTolerances(given.tolerance);
    const warned = given.warn ?? [];
    if (!update && !existsSync(file))
      throw new MbfError('MBF1003', 'no such baseline; --update writes one from these runs', { file });
    const golden = existsSync(file) ? await readBaseline(file, update && force) : undefined;
    if (update && golden !== undefined && golden.upstream !== null && !force)
      throw new MbfError('MBF2801', 'golden values of an upstream project; --update would replace them', { file });
    const sides: MeasuredRuns[] = [];
    for (const name of operands.length === 0 ? [undefined] : operands) sides.push(await resolveMeasured(name, session));
    const current: MeasuredRuns = { ...sides[0]!, runs: sides.flatMap(({ runs }) => runs) };
    session.hasFailed = sides.some(({ failed }) => failed.length > 0);
    const rules = session.keep(await openWithoutTables());
    const repository = repo === undefined ? undefined : await openRepository(repo, session.context.env);
    const base = golden ?? { ...current, name: basename(file).replace(/\.json$/i, ''), origin: 'file' as const };
    const isGate = update ? () => false : isGateOf(warned);
    const judged = await compareWithGolden(
      rules,
      'default',
      {
        golden: base.runs,
        goldenName: base.name,
        goldenOrigin: 'file',
        current: current.runs,
        currentOrigin: current.origin,
        tolerances,
        allowed: parseAllowedChanges(given.allowChange),
        isWithoutSettings: base.upstream !== null,
        force: force || update,
        isGate,
      },
      base,
      current,
      update ? undefined : repository,
    );
    const { checks, summary, ...worded } = wordedComparison(judged);
    const written = update ? await renew(rules, file, base, golden, current, append, force) : null;
    const verdict = update ? 'updated' : gateVerdict(judged, warned, strict);
    return {
      ...worded,
      schema: 'mbforensics/gate@1',
      preset: 'default',
      verdict,
      summary: gateSummary(verdict, summary, checks, { warned, update: written }),
      checks: golden === undefined ? [] : checks,
      notes: golden === undefined ? [] : worded.notes,
      baseline: file,
      operands,
      warned,
      update: written,
      places: placesOf(file, checks, operands),
    } satisfies GateResult as GateResult;
  },
  document: (result) => gateDocument(result),
  reports: { junit: (result) => CHECK_REPORTS.junit(result), sarif: (result) => CHECK_REPORTS.sarif(result) },
  exitCode: ({ verdict }) => EXIT_OF_VERDICT[verdict],
});

function warnedMetrics(text: string, name: string): readonly string[] {
  const metrics = text.split(',').map((metric) => metric.trim());
  const unknown = metrics.find((metric) => metric !== 'loss' && !isMetric(metric));
  if (unknown === undefined) return metrics;
  throw misuse(`${name} ${JSON.stringify(unknown)}: expected one of ${METRIC_NAMES}, loss`);
}

/** Undefined where it is damaged and will be replaced. */
async function readBaseline(file: string, isReplaced: boolean): Promise<MeasuredRuns | undefined> {
  try {
    return await goldenDocumentFile(file);
  } catch (error) {
    if (isReplaced && error instanceof MbfError && error.code === 'MBF2801') return undefined;
    throw error;
  }
}

/** Writes the baseline. Throws MBF1001 where a run failed, or is not a repeat of those that are kept. */
async function renew(
  rules: Store,
  file: string,
  { name }: MeasuredRuns,
  known: MeasuredRuns | undefined,
  { runs: added }: MeasuredRuns,
  append: boolean,
  force: boolean,
): Promise<NonNullable<GateResult['update']>> {
  demandEnded(added, force);
  const kept = append && known?.upstream === null ? known.runs : [];
  const [first = added[0]!] = kept;
  for (const run of force ? [] : added) {
    const contract = await compareContract(rules, first, run);
    const different = contract.filter(({ blocking }) => blocking).map(({ key }) => key);
    if (different.length > 0)
      throw misuse(
        `run ${run.run} is not a repeat of ${first.run}: ${different.join(', ')} differs; --force keeps it nevertheless`,
      );
  }
  const all = [...kept, ...added];
  const runs = all.slice(-MOST_RUNS);
  const document = { schema: 'mbforensics/golden@1', name, written_at: new Date().toISOString(), runs } as const;
  await writeWhole(file, documentText(document), true);
  return { runs: runs.length, dropped: all.length - runs.length, created: known === undefined };
}

/** Fields of the baseline that checks are taken from. */
const FIELD_OF: Readonly<Record<string, string>> = {
  contract: 'config',
  status: 'status',
  peak_active: 'peaks',
  component: 'peaks',
  step_time: 'steps',
  throughput: 'steps',
  loss: 'series',
};

/** Code scanning takes no result without a line of a file. */
function placesOf(file: string, checks: readonly CompareCheck[], operands: readonly string[]): GateResult['places'] {
  const lines = readFileSync(file, 'utf8').split('\n');
  const shown = inCheckout(file);
  const places: Record<string, { file: string; line: number }> = {};
  for (const { name, why } of [{ name: 'contract', why: null }, ...checks]) {
    const field = JSON.stringify(FIELD_OF[name.split(':')[0]!] ?? 'ranks');
    const line = lines.findIndex((text) => text.trimStart().startsWith(`${field}:`));
    const failure = why?.code === 'ending' ? why.current.failure : null;
    const log = ['', ...operands]
      .map((directory) => join(directory, failure?.file ?? ''))
      .find((path) => failure !== null && existsSync(path));
    places[name] =
      failure === null || log === undefined
        ? { file: shown, line: Math.max(0, line) + 1 }
        : { file: inCheckout(log), line: failure.line };
  }
  return places;
}

/** The path from the root of the git checkout that holds it; absolute outside of one. */
function inCheckout(file: string): string {
  const path = resolve(file);
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if (existsSync(join(directory, '.git'))) return relative(directory, path);
    if (directory === dirname(directory)) return path;
  }
}
