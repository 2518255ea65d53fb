import { explainedDocument } from '../../../report/knowledge/explain-document.js';
import { defineVerb } from '../../define-verb.js';
import { operand } from '../../options.js';

export const verb = defineVerb({
  name: 'explain',
  storeless: true,
  // A flag of Megatron is a name here.
  takesFlags: true,
  operands: { id: operand('<id>', 'offload-pp, --recompute-modules, S1, D9, MBF1001, …') },
  async ask({ id }) {
    const { explain } = await import('../../../findings/flows/explain/explain.js');
    return explain(id);
  },
  document: explainedDocument,
});
