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

export interface LabelledRows {
  readonly table: LabelTable;
  /** By row of the lives: number of its label. */
  readonly label: Int32Array;
}

export function labelAt({ table, label }: LabelledRows, row: number): BlockLabel {
  return table.labels[label[row]!]!;
}

/**
 * What a pass over all rows asks of their labels, by number of the label: 1 where `of` is true, or the small number it
 * gives. Labels that are made later have none.
 */
export function byLabel({ table }: LabelledRows, of: (label: BlockLabel) => boolean | number): Uint8Array {
  return Uint8Array.from(table.labels, (label) => Number(of(label)));
}

/** The rows with such labels, in order. */
export function rowsWith(of: LabelledRows, fits: (label: BlockLabel) => boolean): number[] {
  const flags = byLabel(of, fits);
  const rows: number[] = [];
  if (!flags.includes(1)) return rows;
  const { label } = of;
  for (let row = 0; row < label.length; row += 1) if (flags[label[row]!] === 1) rows.push(row);
  return rows;
}

/** What an inference says of a block: its component, the part of it, and how certain that is. */
export type Inferred = readonly [Component, sub_component: string, Confidence];

/**
 * Gives rows another label, by inference; what the stack's rule said stays among its rules. The way from each label to
 * the other is found once.
 */
export function relabelling(
  of: LabelledRows,
  rule: string,
  inferred: Inferred | ((before: BlockLabel) => Inferred),
): (row: number) => void {
  const numbers: number[] = [];
  return (row) => {
    const from = of.label[row]!;
    let to = numbers[from];
    if (to === undefined) {
      const before = of.table.labels[from]!;
      const rules = before.rules.includes(rule) ? before.rules : [rule, ...before.rules];
      const [component, sub_component, confidence] = typeof inferred === 'function' ? inferred(before) : inferred;
      to = of.table.number({ ...before, component, sub_component, confidence, by: 'inference', rules });
      numbers[from] = to;
    }
    of.label[row] = to;
  };
}

/** Rows of `label`. */
export function labelRows(
  labels: readonly BlockLabel[],
  id: { readonly snapshot_id: number; readonly device: number },
) {
  return labels.map(({ by, rules, ...label }, number) => ({
    ...id,
    label: number,
    ...label,
    known_by: by,
    rules: rules.join(' '),
  }));
}
