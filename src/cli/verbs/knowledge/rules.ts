import { EXAMPLE_RULES } from '../../../attribution/match/example-rules.js';
import { describeRules, testRules } from '../../../findings/attribution/views/describe-rules.js';
import { rulesTestText, rulesText } from '../../../report/knowledge/rules-text.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { operand } from '../../options.js';
import { readTextFile } from '../../text-input.js';

const test = defineVerb({
  name: 'test',
  summary: 'whether each sample of a rules file is won by its rule; exit status 1 if not',
  storeless: true,
  operands: { file: operand('<file>', 'a YAML file of rules; - for standard input') },
  examples: ['explain rules test my-rules.yaml'],
  async ask({ file }) {
    const { parseRules } = await import('../../../attribution/match/user-rules.js');
    return worded(testRules(file, parseRules(await readTextFile(file), file)));
  },
  render: rulesTestText,
  exitCode: ({ samples }) => (samples.every(({ passed }) => passed) ? EXIT.done : EXIT.finding),
});

export const verb = defineVerb({
  name: 'rules',
  storeless: true,
  notes: `A file of rules:
${EXAMPLE_RULES.replace(/^/gm, '  ').trimEnd()}

A rule may also hold through, without and phase.`,
  examples: ['explain rules', 'explain rules test my-rules.yaml', 'attribute --rules my-rules.yaml'],
  ask: () => describeRules(),
  render: rulesText,
  verbs: [test],
});
