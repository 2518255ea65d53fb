/** The command line. Errors end here: one message on stderr, one exit code from the table. */
import { Command, CommanderError } from 'commander';
import { remedyOf } from '../knowledge/errors.js';
import { hideSecrets } from '../knowledge/secrets.js';
import { MbfError } from '../model/errors.js';
import { maxOf } from '../model/lists.js';
import type { ErrorResult } from '../model/results/common.js';
import { toJson } from '../report/json.js';
import { bold, setScreen } from '../report/screen.js';
import { type Context, processContext } from './context.js';
import type { Host } from './define-verb.js';
import { EXIT, EXIT_OF_ERROR } from './exit-codes.js';
import { existingNear } from './nearest.js';
import { wrong } from './options.js';
import { type ReadCommand, readCommand } from './read-command.js';
import { GROUPS, LISTED, PARTS, VERBS, type VerbName } from './verbs/index.js';
import { version } from './version.js';

/** Read by `main.ts`, which imports nothing. */
const JUDGED = Symbol.for('mbforensics.judgement');

const OPERANDS_HELP = `
A path is diagnosed. Several paths are one run; - is standard input.
  $ mbforensics runs/llama3-70b-sft
  $ mbforensics train.log snapshot_oom_rank-3.pickle
  $ pbpaste | mbforensics -
`;

/** The program with its options, and no verb. */
function bareProgram(host: Host): Command {
  const { context } = host;
  const { columns } = context;
  return new Command('mbforensics')
    .usage('[PATH...] | VERB [options]')
    .description('Why did this training run fail with "CUDA out of memory", and what fixes it?')
    .version(version())
    .option('--color <when>', 'auto, always or never; NO_COLOR is honoured')
    .option('--debug', 'print stack traces of errors')
    .helpCommand(false)
    .showHelpAfterError('(see --help)')
    .configureOutput({
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
      writeOut: (text) => context.out(text),
      writeErr: (text) => context.err(text),
    })
    .configureHelp({ subcommandTerm: (command) => command.name(), styleTitle: bold })
    .exitOverride();
}

async function addVerb(parent: Command, name: VerbName, host: Host, shownAs: string = name): Promise<void> {
  const command = (await VERBS[name].load()).verb.addTo(parent, host, shownAs);
  const parts = [...PARTS].filter(([called]) => called.startsWith(`${name} `));
  if (parts.length === 0) return;
  const width = maxOf(parts.map(([called]) => called.length)) + 2;
  const lines = parts.map(([called, verb]) => `  ${called.padEnd(width)}${VERBS[verb].summary}`);
  command.addHelpText('after', `\n${bold('Also:')}\n${lines.join('\n')}\n`);
}

/** The program with what its help lists: the verbs of the first group, or all. */
function listed(host: Host, isWhole: boolean): Command {
  const command = bareProgram(host);
  for (const name of LISTED) {
    const { group, summary } = VERBS[name];
    command
      .command(name, { hidden: !isWhole && group !== GROUPS[0] })
      .description(summary)
      .helpGroup(`${group}:`);
  }
  const hidden = GROUPS.slice(1).map((group) => `  ${LISTED.filter((name) => VERBS[name].group === group).join(', ')}`);
  const more = isWhole ? '' : `\n${bold('More verbs')} (mbforensics --help --all):\n${hidden.join('\n')}\n`;
  return command.addHelpText(
    'after',
    `${more}${OPERANDS_HELP}\nmbforensics VERB --help prints options and examples.\nmbforensics help lists the topics of the documentation.`,
  );
}

const JSON_OPTIONS: readonly string[] = ['--json', '--json=full', '--json=short'];

async function program({ verb, parent, args }: ReadCommand, host: Host): Promise<Command> {
  const json = jsonOptions(args).find((arg) => !JSON_OPTIONS.includes(arg));
  if (json !== undefined) throw wrong('--json', json.slice(7), 'one of full, short');
  if (verb === undefined) return listed(host, args.includes('--all'));
  const command = bareProgram(host);
  // Completion and the man page describe all verbs.
  if (verb === 'completion') for (const name of LISTED) await addVerb(command, name, host);
  if (parent === undefined) await addVerb(command, verb, host);
  else {
    const container = command.commands.find((added) => added.name() === parent) ?? command.command(parent);
    await addVerb(container, verb, host, args[1]);
  }
  return command;
}

function jsonOptions(args: readonly string[]): string[] {
  return beforeOperands(args).filter((arg) => /^--json(?:=|$)/.test(arg));
}

/** Up to `--`. */
function beforeOperands(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

function report(error: unknown, context: Context, { debug, json }: { debug: boolean; json: boolean }): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.done;
    const message = error.message.replace(/^error: /, '').replace(/\n.*/s, '');
    if (json) context.out(errorDocument('MBF1001', message, remedyOf('MBF1001'), EXIT.usage));
    return EXIT.usage;
  }
  const failure =
    error instanceof MbfError ? error : new MbfError('MBF9001', error instanceof Error ? error.message : String(error));
  const exitCode = EXIT_OF_ERROR[failure.kind];
  const text = hideSecrets(failure.describe());
  const { code, place } = failure;
  const near = code === 'MBF1003' && place.file !== undefined ? existingNear(place.file) : undefined;
  const remedy = near === undefined ? remedyOf(code) : hideSecrets(`${near} ${remedyOf(code)}`);
  context.err(`mbforensics: error ${code}: ${text}\n  ${remedy}\n`);
  if (json) context.out(errorDocument(code, text, remedy, exitCode, place));
  const stacks = [error, failure.cause].filter((one) => one instanceof Error).map(({ stack }) => stack ?? '');
  if (debug) context.err(`${stacks.join('\n')}\n`);
  return exitCode;
}

function errorDocument(code: string, text: string, remedy: string, exitCode: number, place: MbfError['place'] = {}) {
  const { file = null, offset = null, line = null } = place;
  const schema = 'mbforensics/error@1';
  const result: ErrorResult = { schema, code, text, remedy, file, offset, line, exit_code: exitCode };
  return `${toJson(result)}\n`;
}

/** Runs the command line of this process, to its exit code. */
export async function runProgram(): Promise<void> {
  const read = readCommand(process.argv.slice(2));
  const context = processContext(read.color);
  setScreen({ width: context.columns, color: context.hasColor, isLossless: context.isLossless });
  const host: Host = {
    context,
    end(exitCode, judges) {
      if (judges) Object.assign(process, { [JUDGED]: exitCode });
      process.exitCode = exitCode;
    },
  };
  // `mbforensics … | head` closes the pipe early, which is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    throw error;
  });
  if (read.remark !== undefined) context.err(read.remark);
  try {
    if (read.topic !== undefined) {
      const { helpTopic } = await import('./help-topic.js');
      context.out(helpTopic(read.topic ?? undefined, LISTED));
      return;
    }
    const command = await program(read, host);
    await command.parseAsync([...read.args], { from: 'user' });
  } catch (error) {
    const debug = beforeOperands(read.args).includes('--debug');
    process.exitCode = report(error, context, { debug, json: jsonOptions(read.args).length > 0 });
  }
}
