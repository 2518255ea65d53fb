/** What every verb shares: options, examples, and how an answer leaves the process. */
import type { Command } from 'commander';
import { toJson } from '../report/json.js';
import type { Context } from './context.js';

export interface CommonOptions {
  readonly db?: string;
  readonly json?: boolean;
  readonly memoryLimit?: string;
}

/** Adds `--db`, `--json`, and examples to the help of a verb. */
export function withCommon(command: Command, examples: readonly string[]): Command {
  return command
    .option('--db <file>', 'the store (default: $MBF_DB, else mbforensics.duckdb)')
    .option('--json', 'print one JSON document')
    .option(
      '--memory-limit <size>',
      'memory the database may use, e.g. 256MiB (default: 1GiB); beyond it, it spills to disk',
    )
    .addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ mbforensics ${example}`).join('\n')}\n`);
}

/** JSON and text are two renderings of one result, so they cannot disagree. */
export function answer<Result>(
  context: Context,
  options: CommonOptions,
  result: Result,
  text: (result: Result) => string,
): void {
  context.out(options.json === true ? toJson(result) : text(result));
}
