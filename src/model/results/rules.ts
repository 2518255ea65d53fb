/** What `mbforensics explain rules` and `mbforensics explain stack` answer. */
import type { Phase } from '../log-rows.js';
import type { Component } from '../vocabulary.js';

export type RuleTierName = 'user' | 'owner' | 'framework' | 'generic';

export interface RulesResult {
  readonly schema: 'mbforensics/rules@1';
  readonly rules_version: number;
  readonly rules: readonly RuleResult[];
  readonly phases: readonly { readonly phase: Phase; readonly source: string }[];
}

export interface RuleResult {
  readonly id: string;
  readonly tier: RuleTierName;
  readonly component: Component;
  readonly sub_component: string;
  readonly source: string;
  readonly samples: number;
}

export interface RulesTestResult {
  readonly schema: 'mbforensics/rules-test@1';
  readonly file: string;
  readonly rules: number;
  readonly samples: readonly SampleVerdict[];
}

export interface SampleVerdict {
  readonly rule: string;
  /** From 1. */
  readonly sample: number;
  readonly passed: boolean;
  /** What the stack was taken for; null: nothing. */
  readonly component: Component | null;
  readonly by_rule: string | null;
  /** Why not; null where it passed. */
  readonly reason: string | null;
}

export interface ExplainStackResult {
  readonly schema: 'mbforensics/explain-stack@1';
  readonly stacks: readonly ExplainedStack[];
}

export interface ExplainedStack {
  /** Where the stack is from: a file, standard input, or the id in a store. */
  readonly from: string;
  /** Innermost first. */
  readonly frames: readonly string[];
  readonly component: Component | null;
  readonly sub_component: string | null;
  readonly phase: Phase;
  /** Frame that decides the phase; null without one. */
  readonly phase_frame: number | null;
  /** Frame below which a forward pass runs again; null outside of one. */
  readonly recompute_frame: number | null;
  /** In the order in which they were asked; the first that won decided. */
  readonly rules: readonly ExplainedRule[];
}

export interface ExplainedRule extends Pick<RuleResult, 'id' | 'tier' | 'component' | 'sub_component' | 'source'> {
  /** Index of the frame it matches at, 0 = innermost. */
  readonly frame: number;
  readonly won: boolean;
  /** Why it lost; null for the winner. */
  readonly reason: string | null;
}
