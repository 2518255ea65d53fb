import { knobsDocument } from '../../../report/knowledge/explain-document.js';
import { defineVerb } from '../../define-verb.js';
import { operand } from '../../options.js';

export const verb = defineVerb({
  name: 'knobs',
  storeless: true,
  operands: { filter: operand('[filter]', 'part of a name, or an effect: memory:less') },
  async ask({ filter }) {
    const { listKnobs } = await import('../../../findings/flows/explain/list-knobs.js');
    return listKnobs(filter ?? null);
  },
  document: knobsDocument,
});
