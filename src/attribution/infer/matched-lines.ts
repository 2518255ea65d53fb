/** Distinguishes what one function allocates by the allocating lines. */
import { getOrAdd, groupBy } from '../../model/group-by.js';
import { maxOf } from '../../model/lists.js';
import type { Attribution } from '../blocks/attribution.js';
import { labelAt, rowsWith } from '../blocks/labels.js';

/** Rows that one line of a function made. */
export interface LineGroup {
  readonly rows: readonly number[];
  readonly bytes: number;
  readonly line: number;
}

/** Other lines of the same functions make scratch space, step counters and the like. */
const LEAST_SHARE = 0.01;

/**
 * Groups `rows`, all labelled by the rule `ruleId`, by the lines of the frame the rule matched at and of its callee, in
 * the order of the lines. Groups below a hundredth of the largest are left out.
 */
export function groupByLine(of: Attribution, ruleId: string, rows: readonly number[]): LineGroup[] {
  const groups = new Map<string, { rows: number[]; bytes: number; line: number; inner: number }>();
  for (const row of rows) {
    const stack = of.classes(of.lives.stackId[row]!);
    const at = stack.candidates.find(({ rule }) => rule.id === ruleId)?.frame ?? 0;
    const line = stack.frames[at]?.line ?? 0;
    const inner = at > 0 ? (stack.frames[at - 1]?.line ?? 0) : 0;
    // The callee's lines are evidence only where the callee is of the same file.
    const same = at > 0 && stack.frames[at - 1]?.filename === stack.frames[at]?.filename;
    const key = `${line} ${same ? inner : 0}`;
    const group = getOrAdd(groups, key, () => ({ rows: [], bytes: 0, line, inner: same ? inner : 0 }));
    group.rows.push(row);
    group.bytes += of.lives.bytes[row]!;
  }
  const largest = maxOf([...groups.values()].map(({ bytes }) => bytes));
  return [...groups.values()]
    .filter(({ bytes }) => bytes >= LEAST_SHARE * largest)
    .sort((a, b) => a.line - b.line || a.inner - b.inner);
}

/** Rows by the rule that labelled them, of those that `wanted` accepts. */
export function rowsByRule(
  of: Attribution,
  wanted: (sub: string, rules: readonly string[]) => boolean,
): Map<string, number[]> {
  const rows = rowsWith(of, ({ sub_component, rules }) => rules.length > 0 && wanted(sub_component, rules));
  return groupBy(rows, (row) => labelAt(of, row).rules.at(-1)!);
}
