/** Knobs by group: what each does to memory and speed, and how well that is known. */
import type { KnobEffect, KnobRow, KnobsResult } from '../../model/results/knowledge.js';
import { formatCount } from '../../model/units.js';
import { left, printable, tableOf } from '../table.js';
import { shortText, UNKNOWN } from '../text-pieces.js';

export function knobsText({ filter, total, groups, knobs }: KnobsResult): string {
  const of = filter === null ? '' : ` of ${formatCount(total)} match ${printable(filter)}`;
  const lines = [`${formatCount(knobs.length)} ${knobs.length === 1 && filter === null ? 'knob' : 'knobs'}${of}`];
  for (const { id, title } of groups) {
    lines.push('', title, groupTable(knobs.filter(({ group }) => group === id)));
  }
  if (knobs.length > 0)
    lines.push('', 'mbforensics explain KNOB: spellings, values, evidence, what it needs and what it excludes');
  return `${lines.join('\n')}\n`;
}

/** Widths that a line of 100 columns holds, whatever the group. */
const NAME = 42;
const EFFECT = 20;

function groupTable(knobs: readonly KnobRow[]): string {
  return tableOf(knobs, [
    left('knob', ({ id }) => shortText(id, NAME)),
    left('memory', ({ memory }) => effect(memory).padEnd(EFFECT)),
    left('speed', ({ speed }) => effect(speed).padEnd(EFFECT)),
    left('evidence', ({ grade }) => grade),
  ]);
}

/** The word, with the figure where it is short. */
function effect({ effect: word, text }: KnobEffect<string>): string {
  if (word === 'unknown') return UNKNOWN;
  const phrase = text === '' ? word : `${word}: ${text}`;
  return phrase.length <= EFFECT ? phrase : word;
}
