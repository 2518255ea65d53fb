import { canonicalConfigKey, normaliseConfigValue } from '../../../src/knowledge/config-keys.js';
import type { Emit } from './contract.js';

/**
 * A size of the parallel layout that the process printed about itself: a figure `layout.<key>`, and a setting under its
 * canonical key.
 */
export function emitLayout(key: string, rawKey: string, text: string, emit: Emit): void {
  const value = Number(text);
  const isNumber = text !== '' && Number.isFinite(value);
  emit({
    row: 'value',
    name: `layout.${key}`,
    value: isNumber ? value : null,
    unit: isNumber ? 'count' : null,
    ...(isNumber ? {} : { text }),
  });
  emit({
    row: 'config',
    key: canonicalConfigKey(key),
    rawKey,
    value: normaliseConfigValue(text),
    origin: 'log banner',
  });
}
