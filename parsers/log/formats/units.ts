/** Figures as producers print them. */
import type { MemoryFinding } from '../../../src/model/log-rows.js';

export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;
/** Decimal, as Megatron Bridge's `GB`. */
export const GB = 1e9;

/** Half a unit of the last printed digit, in units of the number: 0.005 of `12.34`, 0.5 of `12`. Exponents count. */
export function halfDigit(text: string): number {
  const [mantissa = '', exponent] = text.toLowerCase().split('e');
  const dot = mantissa.indexOf('.');
  const decimals = dot < 0 ? 0 : mantissa.length - dot - 1;
  return 0.5 * 10 ** (Number(exponent ?? 0) - decimals);
}

/** A memory figure: bytes by the producer's own meaning of its unit, and how exactly it was printed. */
export function memoryFigure(
  metric: string,
  text: string,
  unit: string,
  unitBytes: number,
  more: Partial<Pick<MemoryFinding, 'iteration' | 'moment' | 'rank' | 'device'>> = {},
  precision = halfDigit(text),
): MemoryFinding {
  const value = Number(text);
  return {
    row: 'memory',
    metric,
    bytes: Math.round(value * unitBytes),
    value,
    unit,
    precisionBytes: unitBytes === 1 ? 0 : precision * unitBytes,
    ...more,
  };
}
