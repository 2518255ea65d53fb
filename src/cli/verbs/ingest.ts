import type { Command } from 'commander';
import { PARSERS } from '../../../parsers/index.js';
import { ingest } from '../../ingest/ingest.js';
import { MbfError } from '../../model/errors.js';
import { ingestText } from '../../report/lists-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { INGEST_RESOURCES } from '../path-store.js';
import { progressLine } from '../progress.js';
import { storeToOpen } from '../store-to-open.js';
import { dbPath, resourcesOf } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly run?: string;
  readonly label?: string;
  readonly commit?: string;
  readonly each?: boolean;
  readonly explain?: boolean;
  readonly nsysAll?: boolean;
  readonly quiet?: boolean;
}

export function registerIngest(program: Command, context: Context): void {
  withCommon(
    program
      .command('ingest')
      .description('read runs into the store: logs, memory snapshots and Nsight Systems exports, gzip or not')
      .argument('<path...>', 'run directories or single files; each is one run, named by its base name')
      .option('--run <name>', 'one run of all paths, with this name')
      .option('--each', 'every direct subdirectory of a path is a run')
      .option('--label <label>', 'a label for the runs, e.g. golden')
      .option('--commit <sha>', 'the commit the runs were made from')
      .option('--nsys-all', 'keep every table of Nsight Systems exports, in the schema nsys_raw')
      .option('--explain', 'say for every file which parser won and why')
      .option('-q, --quiet', 'no progress'),
    [
      'ingest runs/llama3-70b-sft',
      'ingest runs/ --each --label golden',
      'ingest log.out snapshot_oom_rank-3.pickle --run night-shift',
      'ingest runs/x --explain',
    ],
  ).action(async (paths: string[], options: Options) => {
    if (options.run !== undefined && options.each === true)
      throw new MbfError('MBF1001', '--run and --each exclude each other');
    const store = storeToOpen(dbPath(options, context), {
      mode: 'write',
      ...INGEST_RESOURCES,
      ...resourcesOf(options),
    });
    const progress = progressLine(context, options.quiet);
    try {
      const result = await ingest({
        ...options,
        allTables: options.nsysAll,
        store,
        parsers: PARSERS,
        paths,
        now: new Date(),
        progress: progress.update,
      });
      progress.clear();
      answer(context, options, { ...result, db: dbPath(options, context) }, ingestText);
      const usable = result.sources.some((source) => source.status === 'ingested' || source.status === 'unchanged');
      if (result.sources.some((source) => source.status === 'failed')) process.exitCode = EXIT.input;
      else if (!usable) {
        throw new MbfError('MBF2008', 'nothing usable was found', { file: paths.join(', ') });
      }
    } finally {
      progress.clear();
      await store.close();
    }
  });
}
