/** Bytes as people write them. Binary units throughout: 1 GiB = 2^30 bytes. */

export const KIB = 1024;
export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;

/**
 * `1536` → `1.50 KiB`; two decimals, the unit chosen so that the number is below 1024. Negative values keep their sign.
 */
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes);
  if (size < KIB) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;
  let value = size / KIB;
  let unit = 0;
  while (value >= 1023.995 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${bytes < 0 ? '-' : ''}${value.toFixed(2)} ${units[unit]}`;
}

/** `5308694528` → `5,308,694,528`. */
export function formatCount(value: number | bigint): string {
  return value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** By letter: powers of 1024. */
export const BINARY_UNITS: Readonly<Record<string, number>> = {
  K: KIB,
  M: MIB,
  G: GIB,
  T: 1024 ** 4,
  P: 1024 ** 5,
  E: 1024 ** 6,
};

const SIZE_UNITS: ReadonlyMap<string, number> = new Map([
  ['b', 1],
  ...['k', 'm', 'g', 't'].flatMap((letter, i): [string, number][] => [
    [`${letter}b`, 1000 ** (i + 1)],
    [letter, 1024 ** (i + 1)],
    [`${letter}ib`, 1024 ** (i + 1)],
  ]),
]);

/**
 * Reads a size a *user* types (`80GiB`, `80GB`, `85899345920`): `GB` is decimal, `GiB` and a bare `G` are binary. Not
 * for logs, which have their own meanings of MB and GB. Returns undefined for an invalid size.
 */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  if (match === null) return undefined;
  const scale = SIZE_UNITS.get((match[2] || 'b').toLowerCase());
  return scale === undefined ? undefined : Math.round(Number(match[1]) * scale);
}

/** `1 block`, `1,024 blocks`. */
export function counted(count: number, word: string, plural = `${word}s`): string {
  return `${formatCount(count)} ${count === 1 ? word : plural}`;
}
