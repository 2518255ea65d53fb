/** The command line. Errors end here: one message on stderr, one exit code from the table. */
import { Command, CommanderError } from 'commander';
import { MbfError } from '../model/errors.js';
import { type Context, processContext } from './context.js';
import type { Host } from './define-verb.js';
import { EXIT, EXIT_OF_ERROR } from './exit-codes.js';
import { VERBS } from './verbs/index.js';
import { version } from './version.js';

/** Read by `main.ts`, which imports nothing. */
const JUDGED = Symbol.for('mbforensics.judgement');

async function program(args: readonly string[], host: Host): Promise<Command> {
  const command = new Command('mbforensics')
    .description('Why did this training run die of "CUDA out of memory"?')
    .version(version())
    .option('--debug', 'print stack traces of errors')
    .on('option:debug', host.debug)
    .showHelpAfterError('(see --help)')
    .exitOverride();
  const verb = args.find((arg) => !arg.startsWith('-')) ?? '';
  const known = Object.hasOwn(VERBS, verb) ? [VERBS[verb]!] : undefined;
  const isVersion = args[0] === '--version' || args[0] === '-V';
  // For help, and for the suggestion after a mistyped verb, all of them.
  for (const load of known ?? (isVersion ? [] : Object.values(VERBS))) (await load()).verb.addTo(command, host);
  return command;
}

function report(error: unknown, context: Context, debug: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof MbfError) {
    context.err(`mbforensics: error ${error.code}: ${error.describe()}\n  ${error.remedy}\n`);
    if (debug) context.err(`${error.stack ?? ''}\n${error.cause instanceof Error ? (error.cause.stack ?? '') : ''}\n`);
    return EXIT_OF_ERROR[error.kind];
  }
  const bug = new MbfError('MBF9001', error instanceof Error ? error.message : String(error));
  context.err(`mbforensics: error ${bug.code}: ${bug.message}\n  ${bug.remedy}\n`);
  if (debug && error instanceof Error) context.err(`${error.stack ?? ''}\n`);
  return EXIT.bug;
}

/** Runs the command line of this process, to its exit code. */
export async function runProgram(): Promise<void> {
  const context = processContext();
  let debug = false;
  const host: Host = {
    context,
    debug: () => {
      debug = true;
    },
    end({ exitCode, judges }) {
      if (judges) Object.assign(process, { [JUDGED]: exitCode });
      process.exitCode = exitCode;
    },
  };
  // `mbforensics … | head` closes the pipe early, which is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    throw error;
  });
  try {
    await (await program(process.argv.slice(2), host)).parseAsync(process.argv);
  } catch (error) {
    process.exitCode = report(error, context, debug);
  }
}
