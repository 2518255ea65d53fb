/** The built-in rules: `src/knowledge/attribution/*.yaml`. */
import { loadData } from '../knowledge/load-data.js';
import { checkRule, RULE_KEYS } from './match/check-rule.js';
import { type CompiledRules, compileRules } from './match/compile-rules.js';
import { compilePatterns } from './match/frame-pattern.js';
import type { AttributionRule, FramePattern, PhaseRule, RuleTier } from './match/rule.js';

export { RULES_VERSION } from './rules-version.js';

/** The files, in order of precedence. */
export const RULE_FAMILIES = [
  'megatron',
  'megatron-bridge',
  'transformer-engine',
  'fsdp',
  'deepspeed',
  'hugging-face',
  'torch',
  'generic',
] as const;

const TIERS = ['owner', 'framework', 'generic'] as const;

/** Instead of its samples, which are test data, a built-in rule has their number. */
const BUILT_IN_KEYS = [...RULE_KEYS.filter((key) => key !== 'samples'), 'tested'];

export interface BuiltInRule extends AttributionRule {
  /** Number of sample stacks of the rule in `test/attribution/samples`. */
  readonly tested: number;
}

interface BuiltInTier extends RuleTier {
  readonly rules: readonly BuiltInRule[];
}

let tiers: readonly BuiltInTier[] | undefined;

/** Read once per process. Throws an `Error` that names the rule and what is wrong with it. */
export function builtInTiers(): readonly BuiltInTier[] {
  if (tiers !== undefined) return tiers;
  const files = RULE_FAMILIES.map(
    (family) => loadData(`attribution/${family}`) as Partial<Record<string, readonly { readonly tested: number }[]>>,
  );
  tiers = TIERS.map((name) => ({
    name,
    rules: files.flatMap((file) => (file[name] ?? []).map((rule) => ({ ...checked(rule), tested: rule.tested }))),
  }));
  return tiers;
}

function checked(rule: object): AttributionRule {
  return checkRule(rule, BUILT_IN_KEYS, (message) => {
    throw new Error(`${JSON.stringify(rule).slice(0, 80)}: ${message}`);
  });
}

export interface PhaseData {
  /** In order of precedence. */
  readonly phases: readonly PhaseRule[];
  /** Frames below which a forward pass runs again, for backward. */
  readonly recompute: readonly FramePattern[];
  /** Calls of the autograd engine. */
  readonly engine: readonly FramePattern[];
}

export function readPhases(): PhaseData {
  return loadData('attribution/phases') as PhaseData;
}

/** `user`: rules of a `--rules` file, tried before all others. */
export function compiledRules(user: readonly AttributionRule[] = []): CompiledRules {
  const all = user.length === 0 ? builtInTiers() : [{ name: 'user' as const, rules: user }, ...builtInTiers()];
  const { phases, recompute, engine } = readPhases();
  return compileRules(all, phases, { recompute: compilePatterns(recompute), engine: compilePatterns(engine) });
}

let builtIn: CompiledRules | undefined;

/** {@link compiledRules} without user rules, compiled once. */
export function builtInRules(): CompiledRules {
  builtIn ??= compiledRules();
  return builtIn;
}
