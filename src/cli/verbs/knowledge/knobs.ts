import { knobsDocument } from '../../../report/knowledge/explain-document.js';
import { defineVerb } from '../../define-verb.js';
import { operand } from '../../options.js';

export const verb = defineVerb({
  name: 'knobs',
  storeless: true,
  operands: { filter: operand('[filter]', 'part of a name, or an effect: memory:less') },
  notes: `FILTER is part of a name, in any spelling, or memory:less, memory:more, speed:faster, speed:slower,
kind:env, grade:measured.`,
  examples: ['explain knobs', 'explain knobs offload', 'explain knobs memory:less'],
  async ask({ filter }) {
    const { listKnobs } = await import('../../../findings/flows/explain/list-knobs.js');
    return listKnobs(filter ?? null);
  },
  document: knobsDocument,
});
