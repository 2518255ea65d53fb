/** `mbforensics compare` by our own rules: one-sided, by unit, with the noise of the golden runs. */

import type { Measurement } from '../../model/measurement.js';
import type {
  CompareCheck,
  ComparedRun,
  CompareVerdict,
  ContractEntry,
  JudgedComparison,
} from '../../model/results/compare.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { Store } from '../../store/store.js';
import { changedConfig, changedEnv } from '../measure/changed-values.js';
import { type AllowedChanges, compareContract, hasCommonGround, sameLayout } from '../measure/contract.js';
import type { Tolerances } from '../measure/tolerances.js';
import { judgeChecks, type Sides } from './judge-checks.js';
import { componentChanges, pairPeaks, siteChanges } from './site-changes.js';

const sentence = sentencesOf('checks', 'notes');

export interface CompareInput extends Sides {
  readonly goldenName: string;
  readonly goldenOrigin: ComparedRun['origin'];
  readonly currentOrigin: ComparedRun['origin'];
  readonly tolerances: Tolerances;
  /** What may differ although the contract has it. */
  readonly allowed: AllowedChanges;
  /** A side is upstream's golden values, which hold no settings. */
  readonly isWithoutSettings: boolean;
  /** Judge although the contract differs. */
  readonly force: boolean;
  /** Which checks decide the verdict, where other ones than by the rules do. */
  readonly isGate?: (check: CompareCheck) => boolean;
}

/** Everything that a preset does not change. */
export type CompareBasis = Omit<JudgedComparison, 'verdict' | 'preset' | 'is_refused' | 'checks' | 'suspects'>;

/** All our checks, in the order of the report. */
export async function allChecks(store: Store, sides: Sides, tolerances: Tolerances): Promise<CompareCheck[]> {
  const contracts = await contractsOf(store, sides);
  return judgeChecks(store, sides, { tolerances, sameLayout: contracts.every(sameLayout) });
}

/** Of each run. Repetitions of one run usually have the same. */
async function contractsOf(
  store: Store,
  { golden, current }: Sides,
  allowed: AllowedChanges = [],
): Promise<ContractEntry[][]> {
  const contracts: ContractEntry[][] = [];
  for (const run of current) contracts.push(await compareContract(store, golden[0]!, run, allowed));
  return contracts;
}

const isBlocking = ({ blocking }: ContractEntry): boolean => blocking;

export async function compareBasis(store: Store, input: CompareInput): Promise<CompareBasis> {
  const [golden, current] = [input.golden[0]!, input.current[0]!];
  const pair = pairPeaks(golden, current);
  const contracts = await contractsOf(store, input, input.allowed);
  return {
    schema: 'mbforensics/compare@1',
    golden: sideOf(input.goldenName, input.golden, input.goldenOrigin),
    current: sideOf(current.run, input.current, input.currentOrigin),
    contract: contracts.find((contract) => contract.some(isBlocking)) ?? contracts[0]!,
    components: pair === undefined ? [] : componentChanges(...pair),
    sites: pair === undefined ? [] : siteChanges(...pair),
    config: changedConfig(golden, current),
    env: changedEnv(golden, current),
    notes: notesOf(input, pair !== undefined),
  };
}

function sideOf(name: string, runs: readonly Measurement[], origin: ComparedRun['origin']): ComparedRun {
  return {
    name,
    commit: runs[0]!.commit,
    ending: runs[0]!.status.ending,
    origin,
    runs: runs.length,
    steps: runs[0]!.steps?.count ?? null,
  };
}

function notesOf({ golden, current }: CompareInput, hasPair: boolean): Text[] {
  const notes: Text[] = current.flatMap(({ disturbances }) => disturbances.map(({ text }) => text));
  if (!hasPair && golden[0]!.peaks.length > 0 !== current[0]!.peaks.length > 0) notes.push(sentence('one_snapshot'));
  return notes;
}

export async function compareRuns(store: Store, input: CompareInput): Promise<JudgedComparison> {
  const basis = await compareBasis(store, input);
  const isComparable =
    basis.contract.every((entry) => !isBlocking(entry)) &&
    (input.isWithoutSettings || hasCommonGround(basis.contract) || isSameProgram(input));
  const is_refused = !input.force && !isComparable;
  const { isGate } = input;
  const judged = await allChecks(store, input, input.tolerances);
  const checks = isGate === undefined ? judged : judged.map((check) => ({ ...check, gate: isGate(check) }));
  return {
    ...basis,
    preset: 'default',
    is_refused,
    verdict: is_refused ? 'undecided' : verdictOf(checks),
    checks: is_refused ? checks.filter(({ name }) => name === 'status') : checks,
    suspects: [],
  };
}

/** Half of the frames of the smaller peak are in both: snapshots of one program need no setting to be compared. */
function isSameProgram({ golden, current }: Sides): boolean {
  const pair = pairPeaks(golden[0]!, current[0]!);
  if (pair === undefined) return false;
  const [a, b] = pair.map(({ frames }) => new Set(frames.map(([name, file]) => `${name} ${file}`))) as [
    Set<string>,
    Set<string>,
  ];
  const [smaller, larger] = a.size < b.size ? [a, b] : [b, a];
  const common = [...smaller].filter((frame) => larger.has(frame)).length;
  return 2 * common >= smaller.size;
}

/** A regression of any gate; undecided where a gate is, or where none could be judged but the status. */
export function verdictOf(checks: readonly CompareCheck[]): CompareVerdict {
  const gates = checks.filter(({ gate }) => gate);
  if (gates.some(({ status }) => status === 'regression')) return 'regression';
  if (gates.some(({ status }) => status === 'undecided')) return 'undecided';
  return gates.some(({ name, status }) => name !== 'status' && status !== 'skipped') ? 'pass' : 'undecided';
}
