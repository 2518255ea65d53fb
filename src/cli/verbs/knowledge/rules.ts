import { EXAMPLE_RULES } from '../../../attribution/match/example-rules.js';
import { describeRules, testRules } from '../../../findings/attribution/views/describe-rules.js';
import { rulesDocument, rulesTestDocument } from '../../../report/knowledge/rules-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { operand } from '../../options.js';
import { readTextFile } from '../../text-input.js';

const test = defineVerb({
  name: 'rules test',
  storeless: true,
  operands: { file: operand('<file>', 'a YAML file of rules; - for standard input') },
  async ask({ file }) {
    const { parseRules } = await import('../../../attribution/match/user-rules.js');
    return worded(testRules(file, parseRules(await readTextFile(file), file)));
  },
  document: rulesTestDocument,
  exitCode: ({ samples }) => (samples.every(({ passed }) => passed) ? EXIT.done : EXIT.finding),
});

export const verb = defineVerb({
  name: 'rules',
  storeless: true,
  notes: `A file of rules:
${EXAMPLE_RULES.replace(/^/gm, '  ').trimEnd()}

A rule may also hold through, without and phase.`,
  ask: () => describeRules(),
  document: rulesDocument,
  verbs: [test],
});
