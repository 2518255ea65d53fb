import { it } from 'vitest';

/** Registers one skipped test with its reason, so that a green run is not mistaken for a full one. */
export function skipLoudly(what: string, why: string): void {
  console.warn(`${what}: skipped: ${why}`);
  it.skip(`needs ${why}`, () => {});
}
