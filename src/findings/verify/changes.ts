/**
 * What differs between the two runs: settings and variables in force, and requests in a script or configuration of the
 * run after that are not in force. A value known for one side only is a change only if the framework's default differs
 * from it.
 */

import { plainValue } from '../../derive/run/config.js';
import { EXPLAINED_BY } from '../../derive/settings/follows.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { CONFIG_ORIGINS, ENV_ORIGINS } from '../../model/log-rows.js';
import type { Measurement } from '../../model/measurement.js';
import type { ChangedValue } from '../../model/results/compare.js';
import type { ChangeKind } from '../../model/results/verify.js';
import type { Text } from '../../model/statement.js';
import { changedConfig, changedEnv } from '../measure/changed-values.js';
import { familyOf, kindOfSetting, kindOfVariable } from './kinds.js';
import { effectiveOf, type Side } from './side.js';
import { sameValue, textOf } from './values.js';

export interface Place {
  readonly origin: string;
  readonly file: string;
  readonly line: number;
}

export interface FoundChange {
  readonly key: string;
  readonly kind: ChangeKind;
  readonly from: string | null;
  readonly fromKnown: boolean;
  readonly to: string | null;
  readonly family: string;
  /** Set where the run after asks for `to` and has another value in force. */
  readonly overruled: { readonly value: string | null; readonly asked: Place; readonly by: Place } | null;
}

export interface FoundChanges {
  readonly changes: readonly FoundChange[];
  readonly otherChanges: readonly ChangedValue[];
  readonly missing: readonly Text[];
}

export function findChanges(before: Side, after: Side, touched: ReadonlySet<string>): FoundChanges {
  const missing: Text[] = [];
  const settings = changedSettings(before, after);
  const variables = changedVariables(before, after, missing);
  if (before.place !== after.place) {
    for (const [run, { found }] of Object.entries({ before, after }))
      if (found.length === 0) missing.push(textOf('no_settings', { run }));
  }
  const keys = new Set(settings.map(({ key }) => key));
  const otherChanges: ChangedValue[] = [];
  const changes: FoundChange[] = [];
  const add = (change: Bare, kind: ChangeKind | undefined): void => {
    if (kind === undefined) otherChanges.push({ key: change.key, a: change.from, b: change.to });
    else changes.push({ ...change, kind, family: familyOf(change.key, kind) });
  };
  for (const change of settings) {
    const kind = kindOfSetting(change.key) ?? (touched.has(change.key) ? 'setting' : undefined);
    const follows = (EXPLAINED_BY[change.key] ?? []).some((source) => keys.has(source));
    add(change, follows ? undefined : kind);
  }
  for (const change of variables) add(change, kindOfVariable(change.key));
  return { changes, otherChanges, missing };
}

type Bare = Omit<FoundChange, 'kind' | 'family'>;

function changedSettings(before: Side, after: Side): Bare[] {
  const bareChanges: Bare[] = [];
  for (const { key, a, b } of changedConfig(before.measurement, after.measurement)) {
    const from = a === null ? assumed(before, key) : { value: a, known: true };
    const to = b === null ? assumed(after, key) : { value: b, known: true };
    // A value that is neither a default nor known for the other side is not a change.
    if (from === undefined || to === undefined || sameValue(from.value, to.value)) continue;
    if (!to.known) continue;
    bareChanges.push({ key, from: shown(from.value), fromKnown: from.known, to: shown(to.value), overruled: null });
  }
  return [...bareChanges, ...overruledSettings(before, after, new Set(bareChanges.map(({ key }) => key)))];
}

const shown = (value: string | null): string | null => (value === 'null' ? null : value);

/** A setting that is unknown for a side: the framework's default, else null if it affects memory at all. */
function assumed(side: Side, key: string): { readonly value: string | null; readonly known: boolean } | undefined {
  const looked = side.view.setting(key);
  if (looked.by !== 'unknown') return { value: looked.value === null ? null : plainValue(looked.value), known: true };
  return undefined;
}

/** Asked for by a script or a configuration of the run after, not by the run before, and not in force. */
function overruledSettings(before: Side, after: Side, known: ReadonlySet<string>): Bare[] {
  const bareChanges: Bare[] = [];
  const meant: readonly string[] = CONFIG_ORIGINS.slice(CONFIG_ORIGINS.indexOf('command line'));
  const configBefore = effectiveOf(before);
  for (const { key, values } of effectiveOf(after).conflicts) {
    if (known.has(key)) continue;
    const [inForce] = values;
    const from = configBefore.entry(key);
    for (const asked of values.slice(1)) {
      if (!meant.includes(asked.origin) || sameValue(asked.value, inForce!.value)) continue;
      const was = before.found.some((one) => one.key === key && sameValue(one.value, asked.value));
      if (was) continue;
      bareChanges.push({
        key,
        from: from?.value ?? null,
        fromKnown: from !== undefined,
        to: asked.value,
        overruled: { value: inForce!.value, asked, by: inForce! },
      });
      break;
    }
  }
  return bareChanges;
}

/** Variables by name as a script or configuration means them, where one does; else as they are. */
function meantEnv({ environment, measurement }: Side): Measurement {
  const env: Record<string, string | null> = { ...measurement.env };
  for (const { key, values } of environment.variables) {
    const script = values.find(({ origin }) => MEANT.includes(origin));
    if (script !== undefined) env[key] = script.value;
  }
  return { ...measurement, env };
}

const MEANT: readonly string[] = [ENV_ORIGINS[2], ENV_ORIGINS[4]];

function changedVariables(before: Side, after: Side, missing: Text[]): Bare[] {
  const bareChanges = new Map<string, Bare>();
  const add = ({ key, a, b }: ChangedValue, fromKnown: boolean): void => {
    if (!bareChanges.has(key))
      bareChanges.set(key, { key, from: a === '' ? null : a, fromKnown, to: b === '' ? null : b, overruled: null });
  };
  // The requested value comes first: what became of it is reported as its effect.
  for (const change of changedEnv(before.measurement, meantEnv(after))) add(change, true);
  for (const change of changedEnv(before.measurement, after.measurement)) add(change, true);
  const [b, a] = [Object.keys(before.measurement.env).length > 0, Object.keys(after.measurement.env).length > 0];
  if (!b && a)
    for (const { key, value } of after.environment.variables)
      if (value !== null && ALLOCATOR_VARIABLES.includes(key) && before.measurement.allocator_conf === null) {
        add({ key, a: null, b: value }, false);
        missing.push(textOf('env_before', { key }));
      }
  if (b && !a && before.place !== after.place) missing.push(textOf('env_after'));
  return [...bareChanges.values()].filter(
    (change) => change.key !== 'CUDA_VISIBLE_DEVICES' && !sameValue(change.from, change.to),
  );
}
