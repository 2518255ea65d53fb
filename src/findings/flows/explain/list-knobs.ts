/** The knobs of the guides as a list, whole or filtered. */

import { findKnobs, spellingsOf } from '../../../knowledge/find-knob.js';
import { KNOB_GROUPS, KNOBS } from '../../../knowledge/knobs/index.js';
import type { Knob } from '../../../knowledge/knobs/knob.js';
import { EVIDENCE_GRADES, type EvidenceGrade } from '../../../model/results/advise.js';
import type { KnobRow, KnobsResult } from '../../../model/results/knowledge.js';

/** @param filter part of a name or group, or `memory:less`, `speed:slower`, `kind:env`, `grade:measured` */
export function listKnobs(filter: string | null): KnobsResult {
  const rows = KNOBS.filter((knob) => filter === null || isWanted(knob, filter));
  // A spelling that is not part of any name: `TP`, `--mbs`.
  const knobs = rows.length > 0 || filter === null ? rows : findKnobs(filter);
  const groups = KNOB_GROUPS.filter(({ id }) => knobs.some(({ group }) => group === id));
  return { schema: 'mbforensics/knobs@1', filter, total: KNOBS.length, groups, knobs: knobs.map(knobRow) };
}

function isWanted(knob: Knob, filter: string): boolean {
  const text = filter.toLowerCase();
  const [, field, value] = /^(memory|speed|kind|grade|group):(.+)$/.exec(text) ?? [];
  if (field !== undefined && value !== undefined) {
    const has: Readonly<Record<string, string>> = {
      memory: knob.memory.effect,
      speed: knob.speed.effect,
      kind: knob.kind,
      grade: gradeOf(knob),
      group: knob.group,
    };
    return has[field] === value;
  }
  return [knob.group, ...spellingsOf(knob)].some((one) => one.toLowerCase().includes(text));
}

/** The surest of what is known. */
export function gradeOf({ evidence }: Knob): EvidenceGrade {
  return EVIDENCE_GRADES.find((grade) => evidence.some((one) => one.grade === grade)) ?? 'documented';
}

export function knobRow(knob: Knob): KnobRow {
  const { id, title, group, kind, spellings, memory, speed } = knob;
  return { id, title, group, kind, spellings, memory, speed, grade: gradeOf(knob) };
}
