/** A configuration as rules read it: each value is explicit, a default, or unknown. */
import type { VersionName } from '../../model/results/log.js';
import { defaultOf } from './defaults.js';
import { derived } from './derived.js';
import type { ExplicitValue, FactsView, Looked, RawFacts } from './facts.js';

export class View implements FactsView {
  readonly facts: RawFacts;
  private readonly settings: ReadonlyMap<string, ExplicitValue>;
  private readonly known = new Map<string, Looked>();

  constructor(facts: RawFacts) {
    this.facts = facts;
    this.settings = derived(facts);
  }

  setting(key: string): Looked {
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const looked = this.find(key);
    this.known.set(key, looked);
    return looked;
  }

  private find(key: string): Looked {
    const explicit = this.settings.get(key);
    if (explicit !== undefined)
      return { key, kind: 'setting', by: 'told', value: explicit.value, explicit, source: null };
    const standard = defaultOf(key, this);
    return standard === undefined
      ? { key, kind: 'setting', by: 'unknown', value: null, explicit: null, source: null }
      : { key, kind: 'setting', by: 'default', value: standard.value, explicit: null, source: standard.source };
  }

  env(key: string): Looked {
    const explicit = this.facts.env.get(key);
    if (explicit !== undefined) return { key, kind: 'env', by: 'told', value: explicit.value, explicit, source: null };
    const by = this.facts.env_known === 'none' ? 'unknown' : this.facts.env_known === 'whole' ? 'told' : 'assumed';
    return { key, kind: 'env', by, value: null, explicit: null, source: null };
  }

  version(key: VersionName): Looked {
    const value = this.facts.versions[key] ?? null;
    return { key, kind: 'version', by: value === null ? 'unknown' : 'told', value, explicit: null, source: null };
  }

  device(): Looked {
    const { name, capability } = this.facts.device;
    return {
      key: 'device',
      kind: 'device',
      by: name === null && capability === null ? 'unknown' : 'told',
      value: name ?? (capability === null ? null : `sm_${Math.round(capability * 10)}`),
      explicit: null,
      source: null,
    };
  }

  framework(): Looked {
    const { name } = this.facts.framework;
    const by = name === null ? 'unknown' : 'told';
    return { key: 'framework', kind: 'framework', by, value: name, explicit: null, source: null };
  }
}
