/** Figures as producers print them. */
import type { MemoryFinding } from '../../../src/model/log-rows.js';
import type { NumberFunction } from './contract.js';
import type { Precision } from './format-shape.js';

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

/** Bytes of a figure in a unit. */
export const bytesOf =
  (unitBytes: number): NumberFunction =>
  (value) =>
    Math.round(value * unitBytes);

/** What a unit that is printed may mean. */
export const PRINTED_UNITS: readonly NumberFunction[] = [
  ...[1, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18, 1024, MIB, GIB, 1024 ** 4, 1024 ** 5],
].map(bytesOf);

/** 105.22 s are 105220 ms, not 105219.99999999999. */
export const millisecondsOf: NumberFunction = (seconds) => Number((seconds * 1000).toPrecision(15));

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

/** How exactly a format prints: in units of the number, or by the digits of the text. */
export function precisionOf(precision: Precision | undefined): (text: string) => number | undefined {
  if (precision === undefined) return () => undefined;
  if (typeof precision === 'number') return () => precision;
  const { most, whole, significant, printed = false, share } = precision;
  return (text) => {
    if (share !== undefined) return Number(text) * share;
    if (whole !== undefined && !text.includes('.')) return whole;
    if (significant !== undefined && Number(text) !== 0) {
      const rounded = 0.5 * 10 ** (Math.floor(Math.log10(Math.abs(Number(text)))) + 1 - significant);
      return printed ? Math.max(rounded, halfDigit(text)) : rounded;
    }
    return most === undefined ? undefined : Math.min(halfDigit(text), most);
  };
}
