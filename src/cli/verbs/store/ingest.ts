import { storeToOpen } from '../../../ingest/store-to-open.js';
import { MbfError } from '../../../model/errors.js';
import { ingestText } from '../../../report/store/lists-text.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { ingestPaths } from '../../ingest-paths.js';
import { flag, operand, option } from '../../options.js';
import { INGEST_RESOURCES } from '../../path-store.js';
import { progressLine } from '../../progress.js';
import { resourcesOf } from '../../target.js';

export const verb = defineVerb({
  name: 'ingest',
  group: 'Store',
  summary: 'read runs into the store: logs, memory snapshots and Nsight Systems exports, gzip or not',
  operands: {
    paths: operand('<path...>', 'run directories or single files; each is one run, named by its base name'),
  },
  options: {
    run: option('--run <name>', 'one run of all paths, with this name'),
    each: flag('--each', 'every direct subdirectory of a path is a run'),
    label: option('--label <label>', 'a label for the runs, e.g. golden'),
    commit: option('--commit <sha>', 'the commit the runs were made from'),
    allTables: flag('--nsys-all', 'keep every table of Nsight Systems exports, in the schema nsys_raw'),
    explain: flag('--explain', 'say for every file which parser won and why'),
    quiet: flag('-q, --quiet', 'no progress'),
  },
  examples: [
    'ingest runs/llama3-70b-sft',
    'ingest runs/ --each --label golden',
    'ingest log.out snapshot_oom_rank-3.pickle --run night-shift',
    'ingest runs/x --explain',
  ],
  async ask({ paths, quiet, ...given }, session) {
    const { run, each, label, commit, allTables, explain } = given;
    if (run !== undefined && each) throw new MbfError('MBF1001', '--run and --each exclude each other');
    const resources = { ...INGEST_RESOURCES, ...resourcesOf(session.common, session.context) };
    const store = session.keep(storeToOpen(session.db, { mode: 'write', ...resources }));
    const { update: progress, clear } = progressLine(session.context, quiet);
    try {
      const how = { run, each, label, commit, allTables, explain };
      const result = await ingestPaths({ ...how, store, paths, now: new Date(), progress });
      return { ...result, db: session.db };
    } finally {
      clear();
    }
  },
  render: ingestText,
  exitCode({ sources }, { paths }) {
    if (sources.some(({ status }) => status === 'failed')) return EXIT.input;
    if (sources.some(({ status }) => status === 'ingested' || status === 'unchanged')) return EXIT.done;
    throw new MbfError('MBF2008', 'nothing usable was found', { file: paths.join(', ') });
  },
});
