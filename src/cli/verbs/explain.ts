import type { Command } from 'commander';
import { explainedText } from '../../report/explain-text.js';
import type { Context } from '../context.js';
import { answer } from '../verb.js';

interface Options {
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ mbforensics explain offload-pp
  $ mbforensics explain --json cpu_offloading
  $ mbforensics explain mem.expandable-first
  $ mbforensics explain D9
  $ mbforensics explain -- --recompute-modules
`;

export function registerExplain(program: Command, context: Context): void {
  program
    .command('explain')
    .description('a rule, knob, symptom, fix, statement, disagreement or error by its name')
    .argument('<id>', 'offload-pp, --recompute-modules, S1, mem.golden, D9, MBF1001, …')
    .option('--json', 'print one JSON document')
    // A flag of Megatron is a name here.
    .allowUnknownOption()
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, options: Options) => {
      const { explain } = await import('../../findings/explain/explain.js');
      answer(context, options, explain(id), explainedText);
    });
}
