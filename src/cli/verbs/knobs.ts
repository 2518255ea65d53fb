import type { Command } from 'commander';
import { knobsText } from '../../report/knobs-text.js';
import type { Context } from '../context.js';
import { answer } from '../verb.js';

interface Options {
  readonly json?: boolean;
}

const EXAMPLES = `
FILTER is part of a name, in any spelling, or memory:less, memory:more, speed:faster, speed:slower,
kind:env, grade:measured.

Examples:
  $ mbforensics knobs
  $ mbforensics knobs offload
  $ mbforensics knobs memory:less
`;

export function registerKnobs(program: Command, context: Context): void {
  program
    .command('knobs')
    .description('what can be turned: effect on memory and speed, and how well it is known')
    .argument('[filter]', 'part of a name, or an effect: memory:less')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (filter: string | undefined, options: Options) => {
      const { listKnobs } = await import('../../findings/explain/list-knobs.js');
      answer(context, options, listKnobs(filter ?? null), knobsText);
    });
}
