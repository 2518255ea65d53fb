#!/usr/bin/env node
/** The command line. Errors end here: one message on stderr, one exit code from the table. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { MbfError } from '../model/errors.js';
import { packageRoot } from '../store/load-queries.js';
import { type Context, processContext } from './context.js';
import { EXIT, EXIT_OF_ERROR } from './exit-codes.js';
import { registerDiagnose } from './verbs/diagnose.js';
import { registerIngest } from './verbs/ingest.js';
import { registerLists } from './verbs/lists.js';
import { registerPeak } from './verbs/peak.js';
import { registerSnapshot } from './verbs/snapshot.js';
import { registerSql } from './verbs/sql.js';

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(`${packageRoot()}/package.json`, 'utf8'));
  return (manifest as { version: string }).version;
}

/** Every verb, in the order of the help. */
const VERBS = [registerIngest, registerDiagnose, registerPeak, registerSnapshot, registerLists, registerSql];

function program(context: Context): Command {
  const command = new Command('mbforensics')
    .description('Why did this training run die of "CUDA out of memory"?')
    .version(version())
    .option('--debug', 'print stack traces of errors')
    .showHelpAfterError('(see --help)')
    .exitOverride();
  for (const register of VERBS) register(command, context);
  // Sub-commands copy neither of these from their parent once they exist.
  for (const verb of command.commands) verb.exitOverride().option('--debug', 'print stack traces of errors');
  return command;
}

function report(context: Context, error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof MbfError) {
    context.err(`mbforensics: error ${error.code}: ${error.describe()}\n  ${error.remedy}\n`);
    if (context.debug)
      context.err(`${error.stack ?? ''}\n${error.cause instanceof Error ? (error.cause.stack ?? '') : ''}\n`);
    return EXIT_OF_ERROR[error.kind];
  }
  const bug = new MbfError('MBF9001', error instanceof Error ? error.message : String(error));
  context.err(`mbforensics: error ${bug.code}: ${bug.message}\n  ${bug.remedy}\n`);
  if (context.debug && error instanceof Error) context.err(`${error.stack ?? ''}\n`);
  return EXIT.bug;
}

const context = processContext();
// `mbforensics … | head` closes the pipe early; that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
});
try {
  await program(context).parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(context, error);
}
