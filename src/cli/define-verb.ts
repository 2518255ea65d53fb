/** One definition of a verb: from it come its help, its arguments, its answer as text and JSON, and its exit code. */
import { type Command, Option } from 'commander';
import { hideSecretsIn } from '../knowledge/secrets.js';
import { MbfError } from '../model/errors.js';
import type { Document } from '../report/document/document.js';
import { toJson } from '../report/json.js';
import { documentJson } from '../report/render/json.js';
import { documentText } from '../report/render/text.js';
import type { Context } from './context.js';
import { EXIT } from './exit-codes.js';
import type { Specs, Values } from './options.js';
import { type CommonOptions, Session } from './session.js';
import { VERB_HELP } from './verb-help.js';

type None = Record<never, never>;
type Given<Operands extends Specs, Options extends Specs> = Values<Operands> & Values<Options> & CommonOptions;

interface Definition<Operands extends Specs, Options extends Specs, Result> {
  /** As in `VERB_HELP`; the last word is the command. */
  readonly name: string;
  /** Help before the examples that is made by code. */
  readonly notes?: string;
  /** A verb without a store: `--json` is its only common option. */
  readonly storeless?: boolean;
  /** A verb that asks no run, so that none of a lake can be meant. */
  readonly lakeless?: boolean;
  readonly operands?: Operands;
  readonly options?: Options;
  /** Whether operands may look like options. */
  readonly takesFlags?: boolean;
  /**
   * Undefined where there is nothing (more) to print. The session closes what was opened. A verb that only has verbs of
   * its own, such as `golden`, asks nothing.
   */
  ask?(inputs: Given<Operands, Options>, session: Session): Promise<Result | undefined> | Result | undefined;
  /** What `--json=full` prints, if it is only a part of the result. */
  full?(result: Result): unknown;
  /** The result as a document: text, the short JSON and Markdown (by the option `markdown`) are its renderings. */
  document?(result: Result, inputs: Given<Operands, Options>, context: Context): Document;
  /** The result as text instead of a document, such as CSV; undefined: the document. */
  render?(result: Result, inputs: Given<Operands, Options>, context: Context): string | undefined;
  /** Further renderings, by the options that name their files; `-` replaces the answer. */
  readonly reports?: { readonly [Key in keyof Options]?: (result: Result) => Report | Promise<Report> };
  /** The exit code, unless a file could not be read. */
  exitCode?(result: Result, inputs: Given<Operands, Options>): number;
  /** Whether the exit code is a judgement for `git bisect run`: see `main.ts`. */
  readonly judges?: boolean;
  readonly verbs?: readonly Verb[];
}

/** A document is written as Markdown. */
type Report = string | Document;

export interface Host {
  readonly context: Context;
  /** Called once, when the verb has answered. `judges`: see `main.ts`. */
  end(exitCode: number, judges: boolean): void;
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly verbs: readonly Verb[];
  /** `shownAs`: another word than that of its name. */
  addTo(parent: Command, host: Host, shownAs?: string): Command;
}

export function defineVerb<Result, Operands extends Specs = None, Options extends Specs = None>(
  definition: Definition<Operands, Options, Result>,
): Verb {
  const { name, ask, verbs = [] } = definition;
  const word = name.slice(name.lastIndexOf(' ') + 1);
  const { summary, heading, notes = definition.notes, closing, ...help } = VERB_HELP[name]!;
  const examples = help.examples ?? verbs.flatMap((verb) => verb.examples);
  const fill = (command: Command, host: Host, parent: Command): void => {
    const { operands = {} as Operands, options = {} as Options, storeless = false, lakeless = storeless } = definition;
    for (const { flags, help } of Object.values(operands)) command.argument(flags, help);
    const declared = Object.entries(options).map(([key, spec]) => {
      const made = new Option(spec.flags, spec.help);
      if (spec.initial !== undefined) made.default(spec.initial);
      if (Array.isArray(spec.initial)) made.argParser((one: string, all: readonly string[]) => [...all, one]);
      command.addOption(made.makeOptionMandatory(spec.isRequired === true));
      return { key, spec, made };
    });
    addCommon(command, storeless, lakeless);
    if (definition.takesFlags === true) command.allowUnknownOption();
    command.action(async () => {
      const raw = command.optsWithGlobals();
      const inputs: Record<string, unknown> = {
        db: raw['db'],
        lake: raw['lake'],
        formats: raw['formats'],
        json: raw['json=full'] === true ? 'full' : (raw['json'] ?? raw['json=short']) === true ? 'short' : undefined,
        memoryLimit: raw['memoryLimit'],
        wait: raw['wait'],
      };
      for (const [i, [key, spec]] of Object.entries(operands).entries())
        inputs[key] = spec.read(command.processedArgs[i], spec.flags);
      for (const { key, spec, made } of declared) inputs[key] = spec.read(raw[made.attributeName()], made.long!);
      const exitCode = await answer(definition, inputs as Given<Operands, Options>, host.context, parent);
      host.end(exitCode, definition.judges === true);
    });
  };
  return {
    name: word,
    summary,
    examples,
    verbs,
    addTo(parent, host, shownAs = word) {
      const command = parent.command(shownAs).description(summary).exitOverride();
      if (heading !== undefined) command.helpGroup(`${heading}:`);
      if (ask !== undefined) fill(command, host, parent);
      command.option('--debug', 'print stack traces of errors');
      const lines = examples.map((example) => `  $ mbforensics ${example}`).join('\n');
      command.addHelpText('after', `${notes === undefined ? '' : `\n${notes}\n`}\nExamples:\n${lines}\n`);
      if (closing !== undefined) command.addHelpText('after', `\n${closing}\n`);
      for (const verb of verbs) verb.addTo(command, host);
      return command;
    },
  };
}

function addCommon(command: Command, storeless: boolean, lakeless: boolean): void {
  if (!storeless) command.option('--db <file>', 'the store (default: $MBF_DB, else mbforensics.duckdb)');
  if (!lakeless) command.option('--lake <dir>', 'ask a lake instead: operands are its runs, as RUN or RUN/RANK');
  // `=` is a part of the flags, so that commander never takes the next operand for the form.
  command.option('--json', 'print one JSON document: what the screen shows');
  command.option('--json=full', 'print one JSON document with every field');
  command.addOption(new Option('--json=short').hideHelp());
  if (!storeless)
    command.option('--formats <file>', 'log formats of your own (YAML), for paths: `explain formats --help`');
  if (!storeless) command.option('--wait <seconds>', 'how long to wait while another process has the store open');
  if (!storeless)
    command.option(
      '--memory-limit <size>',
      'host memory for the database, not GPU memory, e.g. 256MiB (default: 1GiB)',
    );
}

/** A prompt, and a file that the next output is appended to, begin on a line of their own. */
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Asks, prints, and closes what was opened. JSON and text are two renderings of one result. */
async function answer<Operands extends Specs, Options extends Specs, Result>(
  {
    ask,
    full,
    document,
    render,
    reports = {},
    exitCode,
    judges = false,
    storeless,
  }: Definition<Operands, Options, Result>,
  inputs: Given<Operands, Options>,
  context: Context,
  program: Command,
): Promise<number> {
  // The reader of YAML is only loaded where there is something to read.
  const hasFormats = storeless !== true && (inputs.formats ?? context.env['MBF_FORMATS']);
  const { readFormats } = hasFormats ? await import('./formats-file.js') : {};
  const session = new Session({ ...context, formats: await readFormats?.(inputs.formats, context) }, inputs, program);
  try {
    // Also what no ingest read: a repository, standard input, a store of somebody else.
    const result = hideSecretsIn(await ask?.(inputs, session));
    if (result !== undefined) {
      const files = new Map<string, string>();
      const values: Readonly<Record<string, unknown>> = inputs;
      for (const key of ['markdown', ...Object.keys(reports)])
        if (typeof values[key] === 'string') files.set(key, values[key]);
      const made = (): Document => document!(result, inputs, context);
      const text = (): string => render?.(result, inputs, context) ?? documentText(made());
      const json = (): string =>
        toJson(document === undefined || inputs.json === 'full' ? (full?.(result) ?? result) : documentJson(made()));
      if (![...files.values()].includes('-')) context.out(ended(inputs.json === undefined ? text() : json()));
      for (const [key, file] of files) {
        const { writeReport } = await import('./output-file.js');
        const report = (await reports[key]?.(result)) ?? made();
        const { documentMarkdown } = await import('../report/render/markdown.js');
        await writeReport(file, typeof report === 'string' ? report : documentMarkdown(report), context);
      }
    }
    for (const remark of session.remarks) context.err(remark);
    const code = result === undefined ? EXIT.done : (exitCode?.(result, inputs) ?? EXIT.done);
    if (judges) await context.written();
    return session.hasFailed && !judges ? EXIT.input : code;
  } catch (error) {
    // Any program can write values that ours does not, and no check covers all of them.
    if (session.givenStore === undefined || !(error instanceof Error)) throw error;
    if (error instanceof MbfError && error.kind !== 'internal') throw error;
    throw new MbfError('MBF3008', error.message, { file: session.givenStore }, error);
  } finally {
    await session.close();
  }
}
