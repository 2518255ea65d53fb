/** One knob of the guides' index: what it is called where, what it does, and what is known of that. */
import type { AdviceEvidence, EvidenceGrade } from '../../model/results/advise.js';
import type { KnobEffect, KnobKind, KnobSpellings, MemoryEffect, SpeedEffect } from '../../model/results/knowledge.js';
import { sourceText } from '../sources.js';

export type KnobGroup = 'environment' | 'mapping' | 'communication' | 'precision' | 'activations' | 'runtime';

export interface Knob {
  /** Canonical key of a setting (`src/knowledge/config-keys.ts`), name of a variable, or a name of its own. */
  readonly id: string;
  /** As the index has it. */
  readonly title: string;
  readonly group: KnobGroup;
  readonly kind: KnobKind;
  /**
   * In full and as they can be used; the shortest first. Megatron Bridge: the assignment, then the class that has the
   * field.
   */
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

/** `{ less: '12 B·P' }`, or the word alone where there is no text; absent: unknown. */
type EffectData<Effect extends string> = Effect | Readonly<Partial<Record<Effect, string>>>;

/** A knob as `knobs/<group>.yaml` has it. Empty lists and defaults are left out there. */
export interface KnobData
  extends Pick<Knob, 'id'>,
    Partial<Pick<Knob, 'misspelt' | 'requires' | 'conflicts' | 'rules' | 'disputes' | 'isAdded'>> {
  /** Default: the id. */
  readonly title?: string;
  /** Default: `setting`. */
  readonly kind?: KnobKind;
  /** A variable has the same name everywhere. */
  readonly spellings?: Partial<KnobSpellings>;
  readonly values?: string;
  readonly memory?: EffectData<MemoryEffect>;
  readonly speed?: EffectData<SpeedEffect>;
  /** `{ measured: text, source: mem }`; short names of sources are those of `sources.ts`. */
  readonly evidence: readonly (Readonly<Partial<Record<EvidenceGrade, string>>> & { readonly source: string })[];
}

export function knobOf(group: KnobGroup, data: KnobData): Knob {
  const { id, title = id, kind = 'setting', values = '', spellings = {}, misspelt, isAdded } = data;
  const own = kind === 'env' ? [id] : [];
  return {
    id,
    title,
    group,
    kind,
    spellings: {
      nemo: spellings.nemo ?? own,
      megatron_bridge: spellings.megatron_bridge ?? own,
      megatron_lm: spellings.megatron_lm ?? own,
    },
    ...(misspelt === undefined ? {} : { misspelt }),
    values,
    memory: effectOf(data.memory),
    speed: effectOf(data.speed),
    evidence: data.evidence.map(({ source, ...text }) => {
      const [entry] = Object.entries(text);
      if (entry === undefined) throw new Error(`knob ${id}: evidence without a grade`);
      return { text: entry[1], grade: entry[0] as EvidenceGrade, source: sourceText(source) };
    }),
    requires: data.requires ?? [],
    conflicts: data.conflicts ?? [],
    rules: data.rules ?? [],
    disputes: data.disputes ?? [],
    ...(isAdded === undefined ? {} : { isAdded }),
  };
}

function effectOf<Effect extends string>(data: EffectData<Effect> | undefined): KnobEffect<Effect | 'unknown'> {
  if (data === undefined) return { effect: 'unknown', text: '' };
  if (typeof data === 'string') return { effect: data, text: '' };
  const [entry] = Object.entries(data) as [Effect, string][];
  if (entry === undefined) throw new Error('a knob has an empty effect');
  return { effect: entry[0], text: entry[1] };
}
