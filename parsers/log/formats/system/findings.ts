/** Findings of one figure, one word, one setting: what most formats around a trainer emit. */
import type { ConfigFinding, ValueFinding } from '../../../../src/model/log-rows.js';

type Where = Partial<Pick<ValueFinding, 'iteration' | 'rank' | 'device'>>;

export function wordFinding(name: string, text: string, where: Where = {}): ValueFinding {
  return { row: 'value', name, value: null, unit: null, text, ...where };
}

export function figureFinding(name: string, value: number, unit: string | null, where: Where = {}): ValueFinding {
  return { row: 'value', name, value, unit, ...where };
}

export function bannerSetting(key: string, rawKey: string, value: string): ConfigFinding {
  return { row: 'config', key, rawKey, value, origin: 'log banner' };
}

/** `1,234` and `1_234` → 1234. */
export function plainNumber(text: string): number {
  return Number(text.replace(/[,_]/g, ''));
}
