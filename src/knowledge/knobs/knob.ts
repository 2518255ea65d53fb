/** One knob of the guides' index: what it is called where, what it does, and what is known of that. */
import type { AdviceEvidence } from '../../model/advise-results.js';
import type { KnobEffect, KnobKind, KnobSpellings, MemoryEffect, SpeedEffect } from '../../model/knowledge-results.js';

export type KnobGroup = 'environment' | 'mapping' | 'communication' | 'precision' | 'activations' | 'runtime';

export interface Knob {
  /** Canonical key of a setting (`src/knowledge/config-keys.ts`), name of a variable, or a name of its own. */
  readonly id: string;
  /** As the index has it. */
  readonly title: string;
  readonly group: KnobGroup;
  readonly kind: KnobKind;
  /** In full and as they can be used; the shortest first. Megatron Bridge: the assignment, then the class that has the field. */
  readonly spellings: KnobSpellings;
  /** Spellings of the guides that nothing accepts. */
  readonly misspelt?: readonly string[];
  readonly values: string;
  /** Of turning it on, or raising it. */
  readonly memory: KnobEffect<MemoryEffect>;
  readonly speed: KnobEffect<SpeedEffect>;
  readonly evidence: readonly AdviceEvidence[];
  readonly requires: readonly string[];
  readonly conflicts: readonly string[];
  /** Ids of lint rules. */
  readonly rules: readonly string[];
  /** Ids of disagreements. */
  readonly disputes: readonly string[];
  /** Not in the guides' index; advice needs it. */
  readonly isAdded?: true;
}
