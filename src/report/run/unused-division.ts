/** Torch records a division for every power of two, most of them off. */
export const isUnusedDivision = (key: string, value: string | null): boolean =>
  key.startsWith('roundup_power2_divisions.') && (value === '0' || value === '1');
