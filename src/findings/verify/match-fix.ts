/** Which fix of the advice on the run before a set of changes is. */

import { allocatorParts } from '../../derive/settings/values.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import type { AdviceFix, NonFix } from '../../model/results/advise.js';
import type { FoundChange } from './changes.js';
import type { Side } from './side.js';
import { sameValue } from './values.js';

export interface FixMatch {
  readonly fix: AdviceFix;
  /** Changed keys that are of this fix. */
  readonly keys: ReadonlySet<string>;
  /** Whether every change of the fix was made with the value of the fix. */
  readonly complete: boolean;
}

/** The fixes that the changes are, or are part of; the most of it first. */
export function matchFixes(fixes: readonly AdviceFix[], changes: readonly FoundChange[], after: Side): FixMatch[] {
  const byKey = new Map(changes.map((change) => [change.key, change]));
  const matches: FixMatch[] = [];
  for (const fix of fixes) {
    const keys = new Set<string>();
    let complete = true;
    for (const [key, wanted] of Object.entries(fix.change.settings)) {
      const change = byKey.get(key);
      const value = change === undefined ? after.view.setting(key).value : change.to;
      if (!sameValue(value, wanted)) complete = false;
      else if (change !== undefined) keys.add(key);
    }
    for (const [key, wanted] of Object.entries(fix.change.env)) {
      const isAllocator = ALLOCATOR_VARIABLES.includes(key);
      const change =
        byKey.get(key) ?? (isAllocator ? changes.find((one) => ALLOCATOR_VARIABLES.includes(one.key)) : undefined);
      const value = change === undefined ? after.view.env(key).value : change.to;
      const holds = isAllocator
        ? allocatorParts(wanted).every((part) => allocatorParts(value).includes(part))
        : sameValue(value, wanted);
      if (!holds) complete = false;
      else if (change !== undefined) keys.add(change.key);
    }
    if (keys.size > 0) matches.push({ fix, keys, complete });
  }
  return matches.sort(
    (a, b) => Number(b.complete) - Number(a.complete) || b.keys.size - a.keys.size || a.fix.rank - b.fix.rank,
  );
}

/** What people take for a fix, by what they change. */
const NON_FIX_KEYS: Readonly<Record<string, readonly string[]>> = {
  vpp: ['virtual_pipeline_model_parallel_size', 'num_layers_per_virtual_pipeline_stage'],
  'recompute-layernorm': ['recompute_modules'],
  'recompute-core-attn': ['recompute_modules'],
  'recompute-mlp-core-attn': ['recompute_modules'],
  'recompute-mlp-experts': ['recompute_modules'],
  'tp-experts': ['tensor_model_parallel_size'],
  'expandable-segments': ALLOCATOR_VARIABLES,
  'activation-offload-pp': ['cpu_offloading'],
  'activation-offload-moe': ['cpu_offloading'],
  'distributed-optimizer-dp1': ['use_distributed_optimizer'],
  'optimizer-offload-fraction-0': ['optimizer_offload_fraction'],
};

/** Words of the value that make a list of modules this one. */
const MODULE_OF: Readonly<Record<string, string>> = {
  'recompute-layernorm': 'layernorm',
  'recompute-core-attn': 'core_attn',
  'recompute-mlp-core-attn': 'mlp',
  'recompute-mlp-experts': 'mlp',
};

export function nonFixOf(nonFixes: readonly NonFix[], { key, to }: FoundChange): NonFix | null {
  return (
    nonFixes.find(
      ({ id }) =>
        NON_FIX_KEYS[id]?.includes(key) === true &&
        (MODULE_OF[id] === undefined || to?.includes(MODULE_OF[id]) === true),
    ) ?? null
  );
}
