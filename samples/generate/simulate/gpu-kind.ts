/** What depends on the generation of a GPU. */
import type { Gpu } from '../run.js';

/** A100, or else Hopper. */
export function isAmpere({ name }: Gpu): boolean {
  return /A100/.test(name);
}
