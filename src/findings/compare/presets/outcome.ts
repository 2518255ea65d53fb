/** Result of a preset: the verdict of the upstream project, reproduced from data. */
import type { CompareCheck } from '../../../model/results/compare.js';
import type { Text } from '../../../model/statement.js';

export interface PresetOutcome {
  /** No gate fails. Only with `undecided` false does it mean that upstream would pass it. */
  readonly passed: boolean;
  /** Nothing fails, but no gate was there to fail, or one could not be judged. */
  readonly undecided: boolean;
  readonly checks: readonly CompareCheck[];
  readonly notes: readonly Text[];
}

export function presetOutcome(checks: readonly CompareCheck[], notes: readonly Text[]): PresetOutcome {
  const gates = checks.filter(({ gate }) => gate);
  // Upstream is two-sided: what became better than golden fails as well.
  const passed = !gates.some(({ status }) => status === 'regression' || status === 'improvement');
  const undecided = passed && (gates.length === 0 || gates.some(({ status }) => status !== 'pass'));
  return { passed, undecided, checks, notes };
}

/**
 * A check, its differences computed. Figures that are not finite stay out of the result, which has to be valid JSON.
 */
export function presetCheck(
  fields: Pick<CompareCheck, 'name' | 'unit' | 'status' | 'gate'> & {
    readonly golden?: number | null;
    readonly current?: number | null;
    readonly tolerance?: number | null;
    readonly reason?: Text | null;
  },
): CompareCheck {
  const { name, unit, status, gate } = fields;
  const [golden, current] = [finite(fields.golden), finite(fields.current)];
  const delta = golden === null || current === null ? null : current - golden;
  return {
    name,
    golden,
    current,
    unit,
    delta,
    relative: delta === null || golden === null || golden === 0 ? null : delta / golden,
    tolerance: fields.tolerance ?? null,
    status,
    gate,
    noise: null,
    detectable: null,
    detectable_repeated: null,
    reason: null,
    why: fields.reason == null ? null : { code: 'preset', text: fields.reason },
    is_least: false,
  };
}

const finite = (value: number | null | undefined): number | null =>
  value === null || value === undefined || !Number.isFinite(value) ? null : value;
