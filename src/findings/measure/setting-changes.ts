/**
 * Settings that differ between two runs and are known to move what is judged. A regression may be theirs, and not of
 * the code; and a setting that saves memory may hide one.
 */
import type { Measurement } from '../../model/measurement.js';
import type { ChangedValue, ContractEntry, SettingChange } from '../../model/results/compare.js';
import { effectOnCause, wayOfAnyCause } from '../settings/cause-effect.js';
import { knobEffect, wayOf } from '../settings/knob-effects.js';
import { changedConfig, changedEnv } from './changed-values.js';
import { isOfContract } from './contract.js';

/** `memory`: live bytes. `oom`: any memory of the device. `time`: of a step. */
export type JudgedFigure = 'memory' | 'oom' | 'time';

/** What the contract has, first; then other settings and variables that move the figure. */
export function settingChanges(
  golden: Measurement,
  current: Measurement,
  contract: readonly ContractEntry[],
  figure: JudgedFigure,
): SettingChange[] {
  const ofContract = contract.flatMap(({ group, key, same, ...values }): SettingChange[] =>
    same || group === 'revision'
      ? []
      : [{ key, golden: values.golden, current: values.current, way: 'unknown', is_contract: true }],
  );
  const further = [...changedConfig(golden, current), ...changedEnv(golden, current)].flatMap(
    ({ key, a, b }): SettingChange[] => {
      const effect = isOfContract(contract, key) ? undefined : knobEffect(key);
      if (effect === undefined) return [];
      const change = { key, golden: a, current: b, is_contract: false };
      const onCause = figure === 'oom' ? wayOnCause({ key, a, b }, current) : null;
      if (onCause !== null) return [{ ...change, way: onCause }];
      if (figure === 'time' ? effect.time === undefined : effect.components.length === 0) return [];
      return [{ ...change, way: wayOf((figure === 'time' ? effect.time : effect.memory) ?? null, a, b) }];
    },
  );
  return [...ofContract, ...further];
}

/** Besides by live tensors: of the cause of the failure, where that is known. */
function wayOnCause(change: ChangedValue, { status: { verdict } }: Measurement): SettingChange['way'] | null {
  if (verdict === null || verdict.cause === 'undecided') return wayOfAnyCause(change);
  return effectOnCause(change, verdict.cause)?.way ?? null;
}
