/** `mbforensics compare`: golden values and a run, judged by one preset, with the suspects of a regression. */
import type { Repository } from '../../git/repository.js';
import type { CompareResult, CompareVerdict } from '../../model/results/compare.js';
import {
  allChecks,
  type CompareInput,
  checkInput,
  compareBasis,
  compareRuns,
  finish,
} from '../compare/compare-runs.js';
import { judgePreset, type PresetSide } from '../compare/judge-preset.js';
import { commitOf } from './run-diff.js';
import { comparisonOf, grownBetween, suspectsBetween } from './suspects-between.js';

export async function compareWithGolden(
  preset: CompareResult['preset'],
  input: CompareInput,
  golden: PresetSide,
  current: PresetSide,
  repository: Repository | undefined,
): Promise<CompareResult> {
  const [a, b] = [golden.runs[0]!, current.runs[0]!];
  const grown = grownBetween(a, b);
  const comparison = await comparisonOf(repository, commitOf(a), commitOf(b), grown.sites);
  const suspects = (verdict: CompareVerdict, direction: 'memory' | 'time') =>
    verdict === 'regression' ? suspectsBetween(a, b, grown, comparison, direction) : [];
  if (preset !== 'default') {
    const { verdict, checks, notes } = judgePreset(preset, golden, current);
    const basis = compareBasis(input);
    const isMemory = checks.some(({ name, status }) => status === 'regression' && /alloc|reserved/i.test(name));
    const all = { ...basis, notes: [...basis.notes, ...notes] };
    return finish(all, preset, verdict, null, checks, suspects(verdict, isMemory ? 'memory' : 'time'));
  }
  const first = compareRuns(input);
  if (first.verdict !== 'regression') return first;
  const isMemory = allChecks(checkInput(input)).some(
    ({ name, status, gate }) => gate && status === 'regression' && !/^(?:step_time|throughput|loss)/.test(name),
  );
  return { ...first, suspects: suspects(first.verdict, isMemory ? 'memory' : 'time') };
}
