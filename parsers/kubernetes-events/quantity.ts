const SUFFIXES: Readonly<Record<string, number>> = {
  '': 1,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
  Pi: 1024 ** 5,
  Ei: 1024 ** 6,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};

export interface Quantity {
  /** As written; a power of ten is applied. */
  readonly text: string;
  readonly unit: string;
  readonly unitBytes: number;
}

/**
 * `512Gi` is binary, `512G` and `5e11` are decimal. Null if the value is not an amount of memory. Upstream:
 * apimachinery `pkg/api/resource/quantity.go`.
 */
export function parseQuantity(value: unknown): Quantity | null {
  const match = /^(\d{1,16}(?:\.\d{1,9})?)(?:[eE](\d{1,2}))?(Ki|Mi|Gi|Ti|Pi|Ei|[kMGTPE])?$/.exec(String(value).trim());
  if (match === null || (typeof value !== 'string' && typeof value !== 'number')) return null;
  const [, number = '', power, suffix = ''] = match;
  const text = power === undefined ? number : String(Number(number) * 10 ** Number(power));
  return { text, unit: suffix === '' ? 'bytes' : suffix, unitBytes: SUFFIXES[suffix]! };
}
