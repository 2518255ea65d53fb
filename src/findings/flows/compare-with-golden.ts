/** `mbforensics compare`: golden values and a run, judged by one preset, with the suspects of a regression. */
import type { Repository } from '../../git/repository.js';
import type { CompareCheck, CompareVerdict, JudgedComparison, Preset } from '../../model/results/compare.js';
import type { Store } from '../../store/store.js';
import { type CompareInput, compareBasis, compareRuns } from '../compare/compare-runs.js';
import { judgePreset, type PresetSide } from '../compare/judge-preset.js';
import type { MegatronOptions } from '../compare/presets/megatron-lm.js';
import { commitOf } from './run-diff.js';
import { comparisonOf, grownBetween, suspectsBetween } from './suspects-between.js';

export async function compareWithGolden(
  store: Store,
  preset: Preset,
  input: CompareInput,
  golden: PresetSide,
  current: PresetSide,
  repository: Repository | undefined,
  options: MegatronOptions = {},
): Promise<JudgedComparison> {
  const [a, b] = [golden.runs[0]!, current.runs[0]!];
  const grown = grownBetween(a, b);
  const comparison = await comparisonOf(repository, commitOf(a), commitOf(b), grown.sites);
  const suspects = (
    verdict: CompareVerdict,
    isMemory: (check: CompareCheck) => boolean,
    checks: readonly CompareCheck[],
  ) =>
    verdict === 'regression'
      ? suspectsBetween(
          a,
          b,
          grown,
          comparison,
          checks,
          checks.some((check) => check.status === 'regression' && isMemory(check)) ? 'memory' : 'time',
        )
      : [];
  if (preset === 'default') {
    const judged = await compareRuns(store, input);
    const isMemory = ({ name, gate }: CompareCheck): boolean => gate && !/^(?:step_time|throughput|loss)/.test(name);
    return { ...judged, suspects: suspects(judged.verdict, isMemory, judged.checks) };
  }
  const { verdict, checks, notes } = await judgePreset(store, preset, golden, current, options);
  const basis = await compareBasis(store, input);
  return {
    ...basis,
    notes: [...basis.notes, ...notes],
    preset,
    is_refused: false,
    verdict,
    checks,
    suspects: suspects(verdict, ({ name }) => /alloc|reserved/i.test(name), checks),
  };
}
