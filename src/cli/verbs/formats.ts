import { basename } from 'node:path';
import type { Command } from 'commander';
import { loadLogFormats, loadScalarNames, PARSERS } from '../../../parsers/index.js';
import type { FormatsResult } from '../../model/format-results.js';
import { explainText, formatsText } from '../../report/formats-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { openTextInput } from '../text-input.js';
import { answer } from '../verb.js';

interface Options {
  readonly json?: boolean;
  readonly limit?: string;
}

export function registerFormats(program: Command, context: Context): void {
  const formats = program
    .command('formats')
    .description('what this version reads: files, scalars of metrics, lines of text logs')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExamples:\n  $ mbforensics formats\n  $ mbforensics formats explain log-allranks_0.out\n')
    .action(async (options: Options) => {
      const { listFormats } = await loadLogFormats();
      const { listScalarNames } = await loadScalarNames();
      const result: FormatsResult = {
        schema: 'mbforensics/formats@1',
        files: PARSERS.map(({ id, title }) => ({ id, title })),
        scalars: listScalarNames(),
        formats: listFormats(),
      };
      answer(context, options, result, formatsText);
    });
  formats
    .command('explain')
    .description('which formats read a file, how often, and which lines with figures none of them read')
    .argument('<file>', 'a text log, compressed or not; - for standard input')
    .option('--json', 'print one JSON document')
    .option('--limit <n>', 'shapes of unread lines to list; 0 = all', '20')
    .exitOverride()
    .addHelpText('after', '\nExamples:\n  $ mbforensics formats explain log-allranks_0.out\n')
    .action(async (file: string, own: Options, command: Command) => {
      const options: Options = { ...command.parent?.opts(), ...own };
      const limit = countOption('--limit', options.limit ?? '20') ?? 0;
      const { explainLog } = await loadLogFormats();
      const input = await openTextInput(file);
      try {
        answer(context, options, await explainLog(input.source, basename(input.name), limit), explainText);
      } finally {
        await input.close();
      }
    });
}
