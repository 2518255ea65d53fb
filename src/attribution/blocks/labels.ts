/** What blocks are, and how that is known. Few labels, many blocks: a block holds the number of its label. */

import type { Phase } from '../../model/log-rows.js';
import type { LabelBasis } from '../../model/results/attribute.js';
import type { Component, Confidence } from '../../model/vocabulary.js';

export interface BlockLabel {
  readonly component: Component;
  readonly sub_component: string;
  readonly phase: Phase;
  readonly by: LabelBasis;
  /** Rule or inference; empty for `none`. An inference that refines a rule names both. */
  readonly rules: readonly string[];
  readonly confidence: Confidence;
}

export class LabelTable {
  readonly labels: BlockLabel[] = [];
  private readonly numbers = new Map<string, number>();

  /** The number of a label, the same for equal ones. */
  number(label: BlockLabel): number {
    const { component, sub_component, phase, by, rules, confidence } = label;
    const key = `${component} ${sub_component} ${phase} ${by} ${rules.join(',')} ${confidence}`;
    let number = this.numbers.get(key);
    if (number === undefined) {
      number = this.labels.length;
      this.labels.push(label);
      this.numbers.set(key, number);
    }
    return number;
  }
}
