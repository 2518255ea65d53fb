/** The verdicts of the upstream projects' own checks, from their golden files or from runs. */

import { MbfError } from '../../model/errors.js';
import type { StepSeries, UpstreamValues } from '../../model/golden-values.js';
import type { Measurement } from '../../model/measurement.js';
import type { CompareCheck, CompareVerdict } from '../../model/results/compare.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { Store } from '../../store/store.js';
import { judgeChecks } from './judge-checks.js';
import { judgeBridge } from './presets/bridge.js';
import { judgeMegatron, type MegatronOptions } from './presets/megatron-lm.js';
import { bridgeValuesOf, megatronValuesOf } from './presets/upstream-values-of.js';

const sentence = sentencesOf('presets');

export interface PresetSide {
  readonly name: string;
  readonly runs: readonly Measurement[];
  /** The values of a golden file; null of a run, whose figures are put in that form. */
  readonly upstream: UpstreamValues | null;
}

export interface PresetVerdict {
  readonly verdict: CompareVerdict;
  readonly checks: readonly CompareCheck[];
  readonly notes: readonly Text[];
}

/** Throws MBF2802 where golden values of the one project are to be judged by the other's rules. */
export async function judgePreset(
  store: Store,
  preset: 'bridge' | 'mlm',
  golden: PresetSide,
  current: PresetSide,
  options: MegatronOptions,
): Promise<PresetVerdict> {
  const outcome = preset === 'mlm' ? megatron(golden, current, options) : bridge(golden, current);
  // Upstream's checks run after a job that succeeded; a failed run never reaches them.
  const status =
    current.upstream === null
      ? (
          await judgeChecks(
            store,
            { golden: golden.runs, current: current.runs },
            { tolerances: {}, sameLayout: false },
          )
        ).filter(
          ({ name, status: of }) =>
            name === 'status' && (of === 'regression' || (of === 'undecided' && hasFailed(current.runs))),
        )
      : [];
  const judged = outcome.checks.some(({ gate }) => gate);
  const verdict: CompareVerdict =
    !outcome.passed || status.some(({ status: of }) => of === 'regression')
      ? 'regression'
      : outcome.undecided || !judged || status.length > 0
        ? 'undecided'
        : 'pass';
  return { verdict, checks: [...status, ...outcome.checks], notes: outcome.notes };
}

/** Of the machine, perhaps: upstream's checks would not have been run either way. */
const hasFailed = (runs: readonly Measurement[]): boolean =>
  runs.some(({ status: { ending } }) => ending === 'failed' || ending === 'oom');

function megatron(golden: PresetSide, current: PresetSide, options: MegatronOptions) {
  const values = (side: PresetSide) => {
    const { upstream } = side;
    if (upstream === null) return megatronValuesOf(side.runs[0]!);
    if (upstream.kind === 'megatron_training' || upstream.kind === 'megatron_inference') return upstream;
    throw new MbfError(
      'MBF2802',
      `${side.name} holds golden values of Megatron Bridge, which --preset mlm does not judge`,
    );
  };
  const [all, b] = [values(golden), values(current)];
  const a = current.upstream === null ? samplesOf(all, b) : all;
  if (a.kind !== b.kind)
    throw new MbfError(
      'MBF2802',
      `${golden.name} and ${current.name} are golden values of different tests: ${a.kind.replaceAll('_', ' ')}, ${b.kind.replaceAll('_', ' ')}`,
    );
  // What a log cannot have is not judged, though the test asks for it.
  const metrics =
    a === all || all.kind !== 'megatron_training' || a.kind !== 'megatron_training'
      ? options.metrics
      : options.metrics?.filter((name) => a.metrics.has(name) || !all.metrics.has(name));
  const outcome = judgeMegatron(a, b, { ...options, metrics, isPrinted: current.upstream === null });
  return a === all ? outcome : { ...outcome, notes: [...outcome.notes, ...leftOut(all, a)] };
}

type MegatronValues = Extract<UpstreamValues, { readonly kind: 'megatron_training' | 'megatron_inference' }>;

/** What every line of an iteration prints. */
const OF_EVERY_LINE: ReadonlySet<string> = new Set(['lm loss', 'iteration-time']);

/**
 * Upstream takes its samples from event files, where every step has every metric; a log has the loss and the time of
 * the lines it printed, and memory once or twice. So of golden values that a run is held against, those steps do not
 * count that its log cannot have: between two of its lines, and those of a metric that it prints now and then. Steps
 * behind its last line are missing, as they are upstream.
 */
function samplesOf(golden: MegatronValues, run: MegatronValues): MegatronValues {
  if (golden.kind !== 'megatron_training' || run.kind !== 'megatron_training') return golden;
  const printed = [...OF_EVERY_LINE].flatMap((name) => [...(run.metrics.get(name)?.values.keys() ?? [])]);
  const last = printed.reduce((most, step) => Math.max(most, step), 0);
  const isEveryStep = new Set(printed).size >= last;
  const metrics = new Map<string, StepSeries>();
  for (const [name, series] of golden.metrics) {
    const known = run.metrics.get(name)?.values;
    const isDense = OF_EVERY_LINE.has(name);
    if (known === undefined && !isDense) continue;
    const values = new Map(
      [...series.values].filter(
        ([step]) => known?.has(step) === true || step > last || (isDense && isEveryStep) || last === 0,
      ),
    );
    if (values.size > 0 || series.values.size === 0) metrics.set(name, { ...series, values });
  }
  return { ...golden, metrics };
}

function leftOut(all: MegatronValues, kept: MegatronValues): Text[] {
  if (all.kind !== 'megatron_training' || kept.kind !== 'megatron_training') return [];
  const missing = [...all.metrics.keys()].filter((name) => !kept.metrics.has(name));
  const fewer = [...kept.metrics].filter(([name, { values }]) => values.size < all.metrics.get(name)!.values.size);
  return [
    ...(missing.length > 0 ? [sentence('not_logged', { names: missing })] : []),
    ...fewer.map(([name, { values }]) =>
      sentence('fewer_logged', { name, some: values.size, all: all.metrics.get(name)!.values.size }),
    ),
  ];
}

function bridge(golden: PresetSide, current: PresetSide) {
  const values = (side: PresetSide) => {
    const { upstream } = side;
    if (upstream === null) return bridgeValuesOf(side.runs[0]!);
    if (upstream.kind === 'bridge') return upstream;
    throw new MbfError(
      'MBF2802',
      `${side.name} holds golden values of Megatron-LM, which --preset bridge does not judge`,
    );
  };
  return judgeBridge(values(golden), values(current), {});
}
