/** The command line. Errors end here: one message on stderr, one exit code from the table. */
import { Command, CommanderError } from 'commander';
import { MbfError } from '../model/errors.js';
import { type Context, processContext } from './context.js';
import { EXIT, EXIT_OF_ERROR } from './exit-codes.js';
import { version } from './version.js';

type Register = (program: Command, context: Context) => void;

/**
 * Every verb, in the order of the help. Only the one asked for is loaded: all of them together take twice as long to load as Node to start.
 */
const VERBS: readonly (readonly [verbs: readonly string[], load: () => Promise<Register>])[] = [
  [['ingest'], async () => (await import('./verbs/ingest.js')).registerIngest],
  [['diagnose'], async () => (await import('./verbs/diagnose.js')).registerDiagnose],
  [['advise'], async () => (await import('./verbs/advise.js')).registerAdvise],
  [['show'], async () => (await import('./verbs/show.js')).registerShow],
  [['classify'], async () => (await import('./verbs/classify.js')).registerClassify],
  [['log'], async () => (await import('./verbs/log.js')).registerLog],
  [['iterations'], async () => (await import('./verbs/iterations.js')).registerIterations],
  [['memory'], async () => (await import('./verbs/memory.js')).registerMemory],
  [['config'], async () => (await import('./verbs/config.js')).registerConfig],
  [['env'], async () => (await import('./verbs/env.js')).registerEnv],
  [['peak'], async () => (await import('./verbs/peak.js')).registerPeak],
  [['attribute'], async () => (await import('./verbs/attribute.js')).registerAttribute],
  [['residual'], async () => (await import('./verbs/residual.js')).registerResidual],
  [['rules'], async () => (await import('./verbs/rules.js')).registerRules],
  [['explain-stack'], async () => (await import('./verbs/explain-stack.js')).registerExplainStack],
  [['knobs'], async () => (await import('./verbs/knobs.js')).registerKnobs],
  [['explain'], async () => (await import('./verbs/explain.js')).registerExplain],
  [['at'], async () => (await import('./verbs/at.js')).registerAt],
  [['segments'], async () => (await import('./verbs/segments.js')).registerSegments],
  [['allocations'], async () => (await import('./verbs/allocations.js')).registerAllocations],
  [['timeline'], async () => (await import('./verbs/timeline.js')).registerTimeline],
  [['replay'], async () => (await import('./verbs/replay.js')).registerReplay],
  [['whatif'], async () => (await import('./verbs/whatif.js')).registerWhatIf],
  [['estimate'], async () => (await import('./verbs/estimate.js')).registerEstimate],
  [['lint'], async () => (await import('./verbs/lint.js')).registerLint],
  [['verify-fix'], async () => (await import('./verbs/verify-fix.js')).registerVerifyFix],
  [['diff'], async () => (await import('./verbs/diff.js')).registerDiff],
  [['history'], async () => (await import('./verbs/history.js')).registerHistory],
  [['golden'], async () => (await import('./verbs/golden.js')).registerGolden],
  [['compare'], async () => (await import('./verbs/compare.js')).registerCompare],
  [['triage'], async () => (await import('./verbs/triage.js')).registerTriage],
  [['bisect'], async () => (await import('./verbs/bisect.js')).registerBisect],
  [['export'], async () => (await import('./verbs/export.js')).registerExport],
  [['nsys'], async () => (await import('./verbs/nsys.js')).registerNsys],
  [['outside'], async () => (await import('./verbs/outside.js')).registerOutside],
  [['profile'], async () => (await import('./verbs/profile.js')).registerProfile],
  [['snapshot'], async () => (await import('./verbs/snapshot.js')).registerSnapshot],
  [['snapshots'], async () => (await import('./verbs/snapshots.js')).registerSnapshots],
  [['runs', 'sources'], async () => (await import('./verbs/lists.js')).registerLists],
  [['formats'], async () => (await import('./verbs/formats.js')).registerFormats],
  [['sql'], async () => (await import('./verbs/sql.js')).registerSql],
];

async function program(context: Context, args: readonly string[]): Promise<Command> {
  const command = new Command('mbforensics')
    .description('Why did this training run die of "CUDA out of memory"?')
    .version(version())
    .option('--debug', 'print stack traces of errors')
    .showHelpAfterError('(see --help)')
    .exitOverride();
  const wanted = args.find((arg) => !arg.startsWith('-')) ?? '';
  const known = VERBS.filter(([verbs]) => verbs.includes(wanted));
  const isVersion = args[0] === '--version' || args[0] === '-V';
  // For help, and for the suggestion after a mistyped verb, all of them.
  for (const [, load] of known.length > 0 ? known : isVersion ? [] : VERBS) (await load())(command, context);
  // Sub-commands copy neither of these from their parent once they exist.
  for (const verb of command.commands.flatMap((one) => [one, ...one.commands]))
    verb.exitOverride().option('--debug', 'print stack traces of errors');
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
  await (await program(context, process.argv.slice(2))).parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(context, error);
}
