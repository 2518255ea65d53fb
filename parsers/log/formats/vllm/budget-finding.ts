import type { ValueFinding } from '../../../../src/model/log-rows.js';
import { GIB } from '../units.js';

/** A part of an engine's memory budget: a figure in bytes, printed as GB or GiB and 2^30 in both. */
export function budgetFinding(name: string, text: string, where: Pick<ValueFinding, 'text'> = {}): ValueFinding {
  return { row: 'value', name, value: Math.round(Number(text) * GIB), unit: 'bytes', ...where };
}
