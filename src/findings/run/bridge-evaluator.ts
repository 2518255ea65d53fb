/**
 * The values that Megatron Bridge's performance script would take from the same logs, quirks included, for comparison
 * with its golden values: first match for memory whatever rank printed it, and step values zipped with iteration
 * numbers by position. Upstream: Megatron-Bridge `scripts/performance/utils/evaluate.py`, `get_metrics_from_logfiles`.
 * Versions before 2026-05 lack `max_reserved`, and some read several files line by line in turn, which is not imitated.
 */
import type { MeasuredBridge } from '../../model/measurement.js';
import type { BridgeEvaluator } from '../../model/results/log.js';
import type { Store } from '../../store/store.js';

/** Upstream persists about so many steps, evenly strided, and always the first, the last, 0 and 49. */
const MOST_STEPS = 10_000;
const ALWAYS = new Set(['0', '49']);

export async function bridgeEvaluator(store: Store, runId: number): Promise<BridgeEvaluator | null> {
  const memory = await store.one('log.bridge_memory', { run_id: runId });
  const rows = await store.all('log.bridge_steps', { run_id: runId });
  const figures = {
    alloc: memory?.alloc ?? null,
    max_alloc: memory?.max_alloc ?? null,
    max_reserved: memory?.max_reserved ?? null,
  };
  if (Object.values(figures).every((value) => value === null) && rows.length === 0) return null;
  const steps: Record<string, Record<string, number>> = {};
  for (const { kind, step, value } of rows) {
    if (step === null || kind === 'grad norm') continue;
    // A step reported twice keeps its later values.
    steps[step] = { ...steps[step], [kind]: value };
  }
  const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].sort();
  return {
    ...figures,
    steps: thin(steps),
    files: distinct(rows.map(({ display_path }) => display_path)),
    misaligned: distinct(
      rows.flatMap(({ kind, is_misaligned }) => (is_misaligned && kind !== 'grad norm' ? [kind] : [])),
    ),
  };
}

function thin(steps: Record<string, Record<string, number>>): Record<string, Record<string, number>> {
  const names = Object.keys(steps);
  if (names.length <= MOST_STEPS) return steps;
  const stride = Math.ceil(names.length / MOST_STEPS);
  const kept = names.filter((name, i) => i % stride === 0 || i === names.length - 1 || ALWAYS.has(name));
  return Object.fromEntries(kept.map((name) => [name, steps[name]!]));
}

const UTILIZATION = 'GPU utilization';

/**
 * The values of the same, where they are not those of the iteration lines and memory lines of a rank: utilization on
 * lines of its own, NaN, lists that shift, memory in GB. Undefined elsewhere, and for runs of more steps than upstream
 * keeps.
 */
export async function measureBridge(store: Store, runId: number): Promise<MeasuredBridge | undefined> {
  const rows = await store.all('log.bridge_steps', { run_id: runId });
  const memory = await store.one('log.bridge_memory', { run_id: runId });
  const { alloc = null, max_alloc = null, max_reserved = null } = memory ?? {};
  const isOwn = rows.some(
    ({ kind, value, is_misaligned }) =>
      kind === UTILIZATION || !Number.isFinite(value) || (is_misaligned && kind === 'lm loss'),
  );
  if (!isOwn && alloc === null && max_alloc === null) return undefined;
  const byStep = new Map<number, Map<string, number>>();
  for (const { kind, step, value } of rows) {
    if (step === null) continue;
    const values = byStep.get(step) ?? new Map<string, number>();
    byStep.set(step, values.set(kind, value));
  }
  const steps = [...byStep.keys()].sort((a, b) => a - b);
  if (steps.length > MOST_STEPS) return undefined;
  const of = (kind: string) => steps.map((step) => byStep.get(step)!.get(kind) ?? null);
  return {
    ...{ steps, alloc, max_alloc, max_reserved },
    lm_loss: of('lm loss'),
    step_ms: of('elapsed time per iteration (ms)'),
    gpu_utilization: of(UTILIZATION),
    grad_norm: of('grad norm').map((value) => (value === null || Number.isFinite(value) ? value : 'nan')),
  };
}
