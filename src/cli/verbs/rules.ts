import type { Command } from 'commander';
import { EXAMPLE_RULES } from '../../attribution/match/example-rules.js';
import { describeRules, testRules } from '../../findings/attribution/views/describe-rules.js';
import { rulesTestText, rulesText } from '../../report/rules-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { readTextFile } from '../text-input.js';
import { answer } from '../verb.js';

interface Options {
  readonly json?: boolean;
}

const EXAMPLE = `
A file of rules:
${EXAMPLE_RULES.replace(/^/gm, '  ').trimEnd()}

A rule may also hold through, without and phase.

Examples:
  $ mbforensics rules
  $ mbforensics rules test my-rules.yaml
  $ mbforensics attribute --rules my-rules.yaml
`;

export function registerRules(program: Command, context: Context): void {
  const rules = program
    .command('rules')
    .description('the rules that attribute memory to components')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLE)
    .action((options: Options) => answer(context, options, describeRules(), rulesText));
  rules
    .command('test')
    .description('whether each sample of a rules file is won by its rule; exit status 1 if not')
    .argument('<file>', 'a YAML file of rules; - for standard input')
    .option('--json', 'print one JSON document')
    .exitOverride()
    .addHelpText('after', '\nExamples:\n  $ mbforensics rules test my-rules.yaml\n')
    .action(async (file: string, own: Options, command: Command) => {
      const options: Options = { ...command.parent?.opts(), ...own };
      const { parseRules } = await import('../../attribution/match/user-rules.js');
      const result = testRules(file, parseRules(await readTextFile(file), file));
      answer(context, options, result, rulesTestText);
      if (result.samples.some(({ passed }) => !passed)) process.exitCode = EXIT.finding;
    });
}
