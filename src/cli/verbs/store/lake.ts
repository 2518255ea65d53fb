import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { ingest } from '../../../ingest/ingest.js';
import { storeToOpen } from '../../../ingest/store-to-open.js';
import { addRun, keyOfRun } from '../../../lake/add-run.js';
import { ALL_RANKS, type Block, blockOfTask, LOCAL, ownsRank, parseBlock } from '../../../lake/block.js';
import { openLakeForWriting } from '../../../lake/lake-files.js';
import { MbfError } from '../../../model/errors.js';
import type { LakeAddResult } from '../../../model/results/lake.js';
import { lakeAddDocument } from '../../../report/store/lake-document.js';
import { openStore } from '../../../store/open-store.js';
import { defineVerb } from '../../define-verb.js';
import { heldDirectory } from '../../interrupt.js';
import { pathsOf, resourcesOf } from '../../operands.js';
import { flag, misuse, operand, option, required } from '../../options.js';
import { writing } from '../../output-file.js';
import { failedSources, INGEST_RESOURCES } from '../../path-store.js';
import { partsOf, progressOf } from '../../progress.js';
import type { Session } from '../../session.js';
import { ask } from './lake-ask.js';
import { check, compact, expire, withLakeDirectory } from './lake-keep.js';
import { lakeViewsVerb } from './lake-views.js';

const add = defineVerb({
  name: 'lake add',
  lakeless: true,
  operands: { runs: operand('<run...>', 'directories and files of one run, or a run of the store') },
  options: {
    to: required('--to <dir>', 'the directory of the lake; it is made'),
    block: option(
      '--block <k/n>',
      'which part of the ranks: task K, from 0, of N (default: the task of a job array, an srun step or an indexed ' +
        'job, else 0/1); with ,local all that the paths hold, as on the disk of a node; local is the task, local',
      blockOf,
    ),
    events: flag('--events', 'every entry of the traces and of Nsight Systems exports too'),
    replace: flag('--replace', 'remove what the lake has of the run with another number of blocks'),
    run: option('--run <name>', 'the name of the run'),
    id: option('--id <text>', 'what makes the run unique, such as a job id (default: its path and first time)'),
    label: option('--label <label>', 'a label for the run'),
    commit: option('--commit <sha>', 'the commit that the run was made from'),
    quiet: flag('-q, --quiet', 'no progress'),
  },
  async ask({ runs, to, block: given, events, replace, id, quiet, ...named }, session): Promise<LakeAddResult> {
    const task = blockOfTask(session.context.env) ?? ALL_RANKS;
    const block = given === LOCAL ? { ...task, isLocal: true } : (given ?? task);
    const lake = writing(to, () => {
      openLakeForWriting(to);
      return realpathSync(to);
    });
    const source = await storeOf(runs, block, named, quiet, session);
    return withLakeDirectory(lake, to, async (work) => {
      const store = session.keep(
        await openStore(source.file, {
          mode: 'read',
          threads: 1,
          exchangeDirectory: lake,
          ...resourcesOf(session.common),
        }),
      );
      const failed = await failedSources(store, source.runId);
      session.note({ failed });
      for (const { path, error } of failed) session.remarks.push(`mbforensics: ${error.code} ${path}: ${error.text}\n`);
      const run = await keyOfRun(store, source.runId, id);
      const progress = partsOf(session.context, quiet, 'writing table');
      const tables = await addRun(store, source.runId, run, { lake, work, block, events, replace, progress });
      const ranks = (await store.all('export.ranks_of_run', { run_id: source.runId })).filter(({ rank }) =>
        ownsRank(block, rank),
      );
      return {
        ...{ schema: 'mbforensics/lake-add@1', lake: to, run, block: block.number, blocks: block.of },
        ...{ is_local: block.isLocal, ranks: ranks.length, tables },
      };
    });
  },
  document: lakeAddDocument,
});

function blockOf(text: string, name: string): Block | typeof LOCAL {
  const block = parseBlock(text);
  if (block === undefined) throw misuse(`${name} ${text}: expected K/N, such as 0/16, K/N,local or local`);
  return block;
}

interface Source {
  readonly file: string;
  readonly runId: number;
}

/** A store with the ranks of the block: that of `--db`, or one that is made of the paths and removed afterwards. */
async function storeOf(
  operands: readonly string[],
  block: Block,
  named: { readonly run: string | undefined; readonly label: string | undefined; readonly commit: string | undefined },
  quiet: boolean,
  session: Session,
): Promise<Source> {
  const paths = pathsOf(operands);
  if (paths === undefined) {
    const { store, runId } = await session.target(operands);
    await store.close();
    return { file: store.file, runId };
  }
  const { directory, dispose } = heldDirectory();
  session.keep({ close: dispose });
  const file = join(directory, 'block.duckdb');
  const store = storeToOpen(file, { mode: 'write', ...INGEST_RESOURCES, ...resourcesOf(session.common) });
  const progress = progressOf(session.context, quiet);
  try {
    const { formats } = session.context;
    const ofBlock = (rank: number | null): boolean => rank === null || ownsRank(block, rank);
    const { runs } = await ingest({
      ...named,
      store,
      paths,
      formats,
      ofRanks: ofBlock,
      now: new Date(),
      progress,
      oneRun: true,
    });
    if (runs.length === 0) throw new MbfError('MBF2008', 'nothing usable was found', { file: paths.join(', ') });
  } finally {
    progress?.end();
    await store.close?.();
  }
  return { file, runId: 1 };
}

export const verb = defineVerb({ name: 'lake', verbs: [add, ask, lakeViewsVerb, check, compact, expire] });
