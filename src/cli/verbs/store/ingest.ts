import { NOT_FOLLOWED } from '../../../ingest/discover/discover.js';
import { ingest } from '../../../ingest/ingest.js';
import { storeToOpen } from '../../../ingest/store-to-open.js';
import { MbfError } from '../../../model/errors.js';
import { escapeControls } from '../../../model/escape-controls.js';
import { ingestDocument } from '../../../report/store/lists-document.js';
import { sweepTemporaryFiles } from '../../../store/temporary-files.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { onInterrupt } from '../../interrupt.js';
import { resourcesOf } from '../../operands.js';
import { flag, misuse, operand, option } from '../../options.js';
import { INGEST_RESOURCES } from '../../path-store.js';
import { progressOf } from '../../progress.js';

export const verb = defineVerb({
  name: 'ingest',
  lakeless: true,
  operands: {
    paths: operand('<path...>', 'directories and files of one run, named after the first of them'),
  },
  options: {
    run: option('--run <name>', 'the name of the run'),
    each: flag('--each', 'each path is a run; of a single directory, each of its direct subdirectories'),
    label: option('--label <label>', 'a label for the runs, e.g. golden'),
    commit: option('--commit <sha>', 'the commit the runs were made from'),
    allTables: flag('--nsys-all', 'keep every table of Nsight Systems exports, in the schema nsys_raw'),
    followLinks: flag('--follow-links', 'follow links that lead out of a directory'),
    explain: flag('--explain', 'list for every file which parser was chosen and why'),
    quiet: flag('-q, --quiet', 'no progress'),
  },
  async ask({ paths, quiet, ...given }, session) {
    const { run, each, label, commit, allTables, followLinks, explain } = given;
    if (run !== undefined && each) throw misuse('--run and --each cannot be combined');
    const resources = { ...INGEST_RESOURCES, ...resourcesOf(session.common) };
    const store = session.keep(storeToOpen(session.db, { mode: 'write', ...resources }));
    sweepTemporaryFiles();
    const progress = progressOf(session.context, quiet);
    const forget = onInterrupt(
      () => `files that were read whole are kept in ${session.db}; the same command reads the remaining ones`,
    );
    try {
      const { formats } = session.context;
      const how = { run, each, label, commit, allTables, followLinks, explain, formats };
      const result = await ingest({ ...how, store, paths, now: new Date(), progress });
      if (!explain && result.sources.every(({ status }) => status === 'skipped')) {
        const links = result.sources.filter((source) => source.notes.some(({ kind }) => kind === NOT_FOLLOWED));
        for (const { path } of links) session.context.err(`not followed: ${escapeControls(path)} (--follow-links)\n`);
        throw new MbfError('MBF2008', 'nothing usable was found', { file: paths.join(', ') });
      }
      return { ...result, db: session.db };
    } finally {
      forget();
      progress?.end();
    }
  },
  document: ingestDocument,
  exitCode({ sources }, { paths }) {
    if (sources.some(({ status }) => status === 'failed')) return EXIT.input;
    if (sources.some(({ status }) => status === 'ingested' || status === 'unchanged')) return EXIT.done;
    throw new MbfError('MBF2008', 'nothing usable was found', { file: paths.join(', ') });
  },
});
