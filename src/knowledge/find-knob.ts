/** A knob by any of its spellings: `--recompute-modules`, `cfg.model.cpu_offloading`, `TP`, `NCCL_NVLS_ENABLE=0`. */
import { canonicalConfigKey, isKnownConfigKey } from './config-keys.js';
import { KNOBS } from './knobs/index.js';
import type { Knob } from './knobs/knob.js';

/** Spellings are compared without dashes, underscores, case, and what follows an equals sign. */
const plain = (text: string): string =>
  text
    .trim()
    .split('=', 1)[0]!
    .replace(/^-+/, '')
    .replaceAll(/[-_\s]/g, '')
    .toLowerCase();

export function spellingsOf({ id, title, spellings, misspelt = [] }: Knob): string[] {
  return [id, title, ...spellings.nemo, ...spellings.megatron_bridge, ...spellings.megatron_lm, ...misspelt];
}

/** Whether it is the knob itself, in some spelling, and not only one of its values or a path with the same end. */
export function isKnob(knob: Knob, asked: string): boolean {
  const name = plain(asked);
  return (
    spellingsOf(knob).some((spelling) => [spelling, spelling.split('.').at(-1)!].some((one) => plain(one) === name)) ||
    plain(knob.id) === plain(canonicalOf(asked))
  );
}

/** The surest way that finds one decides: the id, a spelling, the last part of a path, the dictionary, a value. */
export function findKnobs(asked: string): readonly Knob[] {
  const wanted = plain(asked);
  if (wanted === '') return [];
  const canonical = plain(canonicalOf(asked));
  const ways: readonly ((knob: Knob) => boolean)[] = [
    ({ id }) => plain(id) === wanted,
    (knob) => spellingsOf(knob).some((spelling) => plain(spelling) === wanted),
    ({ id }) => plain(id) === canonical,
    (knob) => spellingsOf(knob).some((spelling) => plain(spelling.split('.').at(-1) ?? '') === wanted),
    ({ values }) => wanted.length > 6 && plain(values.replaceAll('`', '')).includes(wanted),
  ];
  for (const way of ways) {
    const found = KNOBS.filter(way);
    if (found.length > 0) return found;
  }
  return [];
}

/** Short names are in lower case in the dictionary. */
function canonicalOf(asked: string): string {
  const key = asked.split('=', 1)[0]!;
  return canonicalConfigKey(isKnownConfigKey(key) ? key : key.toLowerCase());
}
