/**
 * `config.yaml` of a W&B run: every setting below a `value` of its own, with a `desc` until wandb-core. Upstream:
 * `wandb/sdk/lib/config_util.py` and `core/internal/runconfig/runconfig.go` (`Serialize`).
 */
import type { Literal, LiteralEntry } from '../../src/model/literal.js';

/** The settings as the run had them; undefined if the tree is not such a file. */
export function untrackedConfig(tree: Literal): Literal | undefined {
  if (tree.kind !== 'map') return undefined;
  const entries: LiteralEntry[] = [];
  let isTracked = false;
  for (const { key, at, value } of tree.entries) {
    if (key === 'wandb_version') {
      isTracked = true;
      continue;
    }
    if (value.kind !== 'map') return undefined;
    const inner = value.entries.find((entry) => entry.key === 'value');
    if (inner === undefined || value.entries.some((entry) => entry.key !== 'value' && entry.key !== 'desc')) {
      return undefined;
    }
    // What W&B itself keeps there: versions, and codes of the features that were used.
    if (key === '_wandb') isTracked = true;
    else entries.push({ key, at, value: inner.value });
  }
  return isTracked ? { kind: 'map', entries, at: tree.at } : undefined;
}
