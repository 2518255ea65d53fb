/**
 * The line that the upstream project itself would log of a check that fails, so that it can be found in its CI.
 * Sources: Megatron-Bridge `scripts/performance/utils/evaluate.py` (`validate_performance`, `validate_memory`,
 * `calc_convergence_and_performance`), Megatron-LM `tests/functional_tests/python_test_utils/common.py`
 * (`ApproximateTest.error_message`).
 */
import type { CompareCheck, Preset } from '../../model/results/compare.js';
import { shortText } from '../text-pieces.js';
import { failsGate } from './check-words.js';

/** Null where the check passes, or upstream lacks a message for it. */
export function upstreamWords(check: CompareCheck, preset: Preset): string | null {
  if (preset === 'default' || !failsGate(check, preset)) return null;
  return preset === 'bridge' ? bridgeWords(check) : megatronWords(check);
}

const BRIDGE_MEMORY: Readonly<Record<string, string>> = {
  max_alloc: 'Memory',
  alloc: 'Alloc',
  max_reserved: 'Max reserved',
};
/** Our names of the tests of the loss curve, and upstream's. */
const BRIDGE_LOSS: Readonly<Record<string, string>> = {
  'lm loss: correlation': 'correlation',
  'lm loss: points': 'point_wise_tolerance',
  'lm loss: final': 'final_loss',
  'lm loss: outliers': 'outliers',
};

function bridgeWords({ name, golden, current, relative, tolerance, status }: CompareCheck): string | null {
  if (name === 'grad norm') return 'Grad norm check failed. Found NaN or Inf in grad norm.';
  if (Object.hasOwn(BRIDGE_LOSS, name)) return `Failed metrics: ${BRIDGE_LOSS[name]}`;
  if (name === 'max_reserved' && current === null)
    return 'Max reserved validation FAILED: metric not found in current logs';
  if (relative === null || tolerance === null) return null;
  const change = `${(100 * Math.abs(relative)).toFixed(2)}%`;
  const threshold = `${(100 * tolerance).toFixed(1)}%`;
  if (Object.hasOwn(BRIDGE_MEMORY, name)) return `${BRIDGE_MEMORY[name]} validation FAILED: ${change} > ${threshold}`;
  if (name !== 'GPU utilization' || typeof golden !== 'number' || typeof current !== 'number') return null;
  // Upstream takes TFLOP/s for per cent.
  const figures = `(current=${current.toFixed(4)}%, golden=${golden.toFixed(4)}%, threshold=${threshold})`;
  return status === 'improvement'
    ? `UNEXPECTED IMPROVEMENT: GPU util jumped ${change} ${figures}`
    : `REGRESSION: GPU util dropped ${change} ${figures}`;
}

/** Of training tests: those of inference assert in words of their own, and a metric that is missing raises. */
function megatronWords({ name, golden, current, tolerance, reason, unit }: CompareCheck): string | null {
  const isOfSteps = reason !== null && /\bsteps?\b/.test(reason);
  if (golden === null || current === null || unit === '' || !isOfSteps) return null;
  return `${tolerance === 0 ? 'Exact' : 'Approximate'} comparison of ${shortText(name, 60)}: FAILED`;
}
