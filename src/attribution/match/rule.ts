/**
 * The format of attribution rules: which component owns a block, by its stack, pool, size and lifetime. The built-in
 * rules are in `src/knowledge/attribution/*.yaml`; a file given with `--rules` has rules of the same format.
 */
import type { Phase } from '../../model/log-rows.js';
import type { Component } from '../../model/vocabulary.js';

/**
 * What a frame must look like; both parts must fit the same frame. Patterns are globs, one or several of which one must
 * fit, never regular expressions: they match in time linear in the length of the name, whoever wrote them.
 *
 * `file` is a path suffix that begins at a folder, without regard to how the package is installed:
 * `core/transformer/mlp.py`, `moe/*.py`, `dist_checkpointing/**` (`*` stays within a folder, `**` does not; a pattern
 * that ends in `/**` fits every file below a folder of that name, anywhere in the path).
 *
 * `function` is a bare function name: `forward`, `_forward_*`. Torch records `co_name` up to Python 3.10 and the
 * qualified name where it has one, so `CheckpointFunction.backward` fits both that name and a bare `backward`, and
 * `backward` fits `CheckpointFunction.backward` too.
 */
export interface FramePattern {
  readonly file?: string | readonly string[];
  readonly function?: string | readonly string[];
}

export type PoolKind = 'default' | 'private';
export type Lifetime = 'resident' | 'transient';

/** What is not in the stack. A condition on something that is not known of a block does not hold. */
export interface BlockConditions {
  /** `private`: the segment's pool id is not (0, 0): CUDA graphs, or a `torch.cuda.MemPool`. */
  readonly pool?: PoolKind;
  /**
   * `resident`: outlives its training step, or has lived through a whole one; see
   * `src/findings/state/live/lifetimes.ts`.
   */
  readonly lifetime?: Lifetime;
  /** Requested bytes: one of these, or within these bounds. */
  readonly bytes?: readonly number[];
  readonly min_bytes?: number;
  readonly max_bytes?: number;
}

/** A stack that the rule must win. */
export interface RuleSample {
  /** Innermost first, each `function path/of/file.py`; a frame without a file is the function alone. */
  readonly frames: readonly string[];
  /** The upstream file and function where this allocation happens, with the version or commit it was read at. */
  readonly from: string;
  readonly pool?: PoolKind;
  readonly lifetime?: Lifetime;
  /** Requested bytes. */
  readonly bytes?: number;
  /** Where other than the rule's own: activations under a checkpoint's backward become `recompute`. */
  readonly component?: Component;
  readonly phase?: Phase;
}

export interface AttributionRule {
  /** Unique; `framework.what`, kebab-case. */
  readonly id: string;
  readonly component: Component;
  /** What of the component: `main_grad_buffer`, `attention_core`, `exp_avg`. snake_case. */
  readonly sub_component: string;
  /** Some frame must fit one of these. It is the frame that the rule matches at. */
  readonly at: FramePattern | readonly FramePattern[];
  /** Some frame further out (a caller) must fit one of these. */
  readonly within?: FramePattern | readonly FramePattern[];
  /** Some frame further in (a callee) must fit one of these. */
  readonly through?: FramePattern | readonly FramePattern[];
  /** No frame of the stack may fit any of these. */
  readonly without?: FramePattern | readonly FramePattern[];
  readonly when?: BlockConditions;
  /** Set where the rule knows better than the phases of the stack. */
  readonly phase?: Phase;
  /** Upstream file and function, and the version or commit it was read at. Of user rules: any text. */
  readonly source: string;
}

/** A rule of a `--rules` file. The samples of built-in rules are test data: `test/attribution/samples`. */
export interface UserRule extends AttributionRule {
  readonly samples: readonly RuleSample[];
}

/**
 * Rules in order of precedence. Within a tier the rule that matches the innermost frame wins, then the one listed
 * first. A rule of an earlier tier wins over all later ones: frames of a linear layer are in stacks of many components,
 * so the owner of the block decides even if its frame is far out, then the framework's layers from the innermost frame
 * outwards, then frames common to all PyTorch programs.
 */
export interface RuleTier {
  readonly name: 'user' | 'owner' | 'framework' | 'generic';
  readonly rules: readonly AttributionRule[];
}

/** A phase of training, determined by any frame of a stack. */
export interface PhaseRule {
  readonly phase: Phase;
  readonly at: FramePattern | readonly FramePattern[];
  readonly source: string;
}
