/** The rules that come with the tool, in order of precedence. Raise {@link RULES_VERSION} whenever the same stack would be called something else. */
import { type CompiledRules, compileRules } from '../match/compile-rules.js';
import { compilePatterns } from '../match/frame-pattern.js';
import type { AttributionRule, RuleTier } from '../match/rule.js';
import { DEEPSPEED_LAYERS, DEEPSPEED_OWNERS } from './deepspeed.js';
import { GENERIC } from './generic.js';
import { HUGGING_FACE_LAYERS, HUGGING_FACE_OWNERS } from './hugging-face.js';
import { BRIDGE_LAYERS, BRIDGE_OWNERS } from './megatron-bridge.js';
import { MEGATRON_GENERIC, MEGATRON_LAYERS, MEGATRON_OWNERS } from './megatron-core.js';
import { ENGINE_FRAMES, PHASE_RULES, RECOMPUTE_FRAMES } from './phases.js';
import { TORCH_LAYERS, TORCH_OWNERS } from './torch.js';
import { FSDP_LAYERS, FSDP_OWNERS } from './torch-fsdp.js';
import {
  TRANSFORMER_ENGINE_GENERIC,
  TRANSFORMER_ENGINE_LAYERS,
  TRANSFORMER_ENGINE_OWNERS,
} from './transformer-engine.js';

export const RULES_VERSION = 1;

export const TIERS: readonly RuleTier[] = [
  {
    name: 'owner',
    rules: [
      ...MEGATRON_OWNERS,
      ...BRIDGE_OWNERS,
      ...TRANSFORMER_ENGINE_OWNERS,
      ...FSDP_OWNERS,
      ...DEEPSPEED_OWNERS,
      ...HUGGING_FACE_OWNERS,
      ...TORCH_OWNERS,
    ],
  },
  {
    name: 'framework',
    rules: [
      ...MEGATRON_LAYERS,
      ...BRIDGE_LAYERS,
      ...TRANSFORMER_ENGINE_LAYERS,
      ...FSDP_LAYERS,
      ...DEEPSPEED_LAYERS,
      ...HUGGING_FACE_LAYERS,
      ...TORCH_LAYERS,
    ],
  },
  { name: 'generic', rules: [...MEGATRON_GENERIC, ...TRANSFORMER_ENGINE_GENERIC, ...GENERIC] },
];

/** `user`: rules of a `--rules` file, tried before all others. */
export function compiledRules(user: readonly AttributionRule[] = []): CompiledRules {
  const tiers = user.length === 0 ? TIERS : [{ name: 'user' as const, rules: user }, ...TIERS];
  return compileRules(tiers, PHASE_RULES, {
    recompute: compilePatterns(RECOMPUTE_FRAMES),
    engine: compilePatterns(ENGINE_FRAMES),
  });
}

let builtIn: CompiledRules | undefined;

/** {@link compiledRules} without any of a user's, compiled once. */
export function builtInRules(): CompiledRules {
  builtIn ??= compiledRules();
  return builtIn;
}
