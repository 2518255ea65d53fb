/** `mbforensics compare` by our own rules: one-sided, by unit, with the noise of the golden runs. */

import type { DiffComponent, DiffSite } from '../../model/diff-parts.js';
import type { Measurement } from '../../model/measurement.js';
import type {
  ChangedValue,
  CompareCheck,
  ComparedRun,
  CompareResult,
  CompareVerdict,
  Preset,
  Suspect,
} from '../../model/results/compare.js';
import { changedConfig, changedEnv } from '../measure/changed-values.js';
import { compareContract, refusalOf, sameLayout } from '../measure/contract.js';
import type { Tolerances } from '../measure/tolerances.js';
import type { CheckInput } from './checks/check.js';
import { lossCheck } from './checks/loss-check.js';
import { memoryChecks } from './checks/memory-checks.js';
import { statusCheck } from './checks/status-check.js';
import { timeChecks } from './checks/time-checks.js';
import { componentChanges, pairPeaks, siteChanges } from './site-changes.js';

export interface CompareInput {
  readonly golden: readonly Measurement[];
  readonly goldenName: string;
  readonly goldenOrigin: ComparedRun['origin'];
  readonly current: readonly Measurement[];
  readonly currentOrigin: ComparedRun['origin'];
  readonly tolerances: Tolerances;
  /** Judge although the contract differs. */
  readonly force: boolean;
}

/** Everything that a preset does not change. */
export type CompareBasis = Omit<CompareResult, 'verdict' | 'summary' | 'preset' | 'refused' | 'checks' | 'suspects'>;

export function checkInput({
  golden,
  current,
  tolerances,
}: Pick<CompareInput, 'golden' | 'current' | 'tolerances'>): CheckInput {
  return { golden, current, tolerances, sameLayout: sameLayout(compareContract(golden[0]!, current[0]!)) };
}

/** All our checks, in the order of the report. */
export function allChecks(input: CheckInput): CompareCheck[] {
  return [statusCheck(input.golden, input.current), ...memoryChecks(input), ...timeChecks(input), lossCheck(input)];
}

export function compareBasis(input: CompareInput): CompareBasis {
  const [golden, current] = [input.golden[0]!, input.current[0]!];
  const pair = pairPeaks(golden, current);
  const components: DiffComponent[] = pair === undefined ? [] : componentChanges(...pair);
  const sites: DiffSite[] = pair === undefined ? [] : siteChanges(...pair);
  const config: ChangedValue[] = changedConfig(golden, current);
  const env: ChangedValue[] = changedEnv(golden, current);
  return {
    schema: 'mbforensics/compare@1',
    golden: sideOf(input.goldenName, input.golden, input.goldenOrigin),
    current: sideOf(current.run, input.current, input.currentOrigin),
    contract: compareContract(golden, current),
    components,
    sites,
    config,
    env,
    notes: notesOf(input, pair !== undefined),
  };
}

function sideOf(name: string, runs: readonly Measurement[], origin: ComparedRun['origin']): ComparedRun {
  return { name, commit: runs[0]!.commit, ending: runs[0]!.status.ending, origin, runs: runs.length };
}

function notesOf({ golden, current }: CompareInput, hasPair: boolean): string[] {
  const notes = current.flatMap(({ disturbances }) => disturbances.map(({ text }) => text));
  if (golden.length === 1 && golden[0]!.steps !== null)
    notes.push(
      'one golden run: how much runs differ by themselves is assumed (0.4 % of a step); `golden add` a second one to know',
    );
  if (!hasPair && golden[0]!.peaks.length > 0 !== current[0]!.peaks.length > 0)
    notes.push('only one side has a memory snapshot: components and call sites cannot be compared');
  return notes;
}

export function compareRuns(input: CompareInput, suspects: readonly Suspect[] = []): CompareResult {
  const basis = compareBasis(input);
  const refused = input.force ? null : refusalOf(basis.contract);
  const checks = refused === null ? allChecks(checkInput(input)) : [statusCheck(input.golden, input.current)];
  const verdict = refused === null ? verdictOf(checks) : 'undecided';
  return finish(basis, 'default', verdict, refused, checks, suspects);
}

/** A regression of any gate; undecided where a gate is, or where none could be judged but the status. */
export function verdictOf(checks: readonly CompareCheck[]): CompareVerdict {
  const gates = checks.filter(({ gate }) => gate);
  if (gates.some(({ status }) => status === 'regression')) return 'regression';
  if (gates.some(({ status }) => status === 'undecided')) return 'undecided';
  return gates.some(({ name, status }) => name !== 'status' && status !== 'skipped') ? 'pass' : 'undecided';
}

export function finish(
  basis: CompareBasis,
  preset: Preset,
  verdict: CompareVerdict,
  refused: string | null,
  checks: readonly CompareCheck[],
  suspects: readonly Suspect[],
): CompareResult {
  return {
    ...basis,
    verdict,
    summary: summaryOf(verdict, refused, checks, preset !== 'default'),
    preset,
    refused,
    checks,
    suspects,
  };
}

const percent = (value: number): string =>
  `${value > 0 ? '+' : value < 0 ? '−' : ''}${(100 * Math.abs(value)).toFixed(1)} %`;

function summaryOf(
  verdict: CompareVerdict,
  refused: string | null,
  checks: readonly CompareCheck[],
  isTwoSided: boolean,
): string {
  if (refused !== null) return refused;
  const wantedOutcome = verdict === 'regression' ? 'regression' : 'undecided';
  const decisive = checks.filter(
    ({ gate, status }) =>
      gate && (status === wantedOutcome || (isTwoSided && verdict === 'regression' && status === 'improvement')),
  );
  if (verdict === 'pass') {
    const judged = checks.filter(({ gate, status }) => gate && status !== 'skipped');
    return `${judged.map(({ name }) => name.replaceAll('_', ' ')).join(', ')} within tolerance`;
  }
  if (decisive.length === 0) return 'nothing that both sides have could be judged';
  return decisive
    .slice(0, 3)
    .map(({ name, relative, current, reason, status }) => {
      const words = name.replaceAll('_', ' ');
      if (relative !== null)
        return `${words} ${percent(relative)}${status === 'undecided' && reason !== null ? ` (${reason})` : ''}`;
      return current === null ? `${words}: ${reason ?? ''}` : `${words}: ${current}`;
    })
    .join('; ');
}
