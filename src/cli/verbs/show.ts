import type { Command } from 'commander';
import { diagnose } from '../../findings/flows/diagnose.js';
import { describeShow, SHOW_WORDS } from '../../findings/verdict/show.js';
import { snapshotsToJudge } from '../../findings/verdict/traced-ooms.js';
import { sourceLines } from '../../ingest/source-lines.js';
import { MbfError } from '../../model/errors.js';
import { showText } from '../../report/show-text.js';
import type { Context } from '../context.js';
import { countOption, parseCount } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { withHistories } from '../with-histories.js';
import { capacityOption } from './diagnose.js';

interface Options extends CommonOptions {
  readonly verdict: string;
  readonly limit: string;
  readonly capacity?: string;
}

const HANDLE = /^[eE]\d{1,4}$/;

export function registerShow(program: Command, context: Context): void {
  withCommon(
    program
      .command('show')
      .description('what is behind a handle of the diagnosis: full text, source lines, query, rows')
      .argument('[handle]', `E1, E2, … of diagnose, or ${SHOW_WORDS.join(', ')}; without one: all handles`)
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .option('--verdict <n>', 'of which verdict, from 1', '1')
      .option('--limit <n>', 'rows to show; 0 = all', '20')
      .option('--capacity <size>', 'as given to diagnose'),
    ['show', 'show E3', 'show E3 runs/llama3-70b-sft --limit 0', 'show accounting night-shift --json'],
  ).action(async (first: string | undefined, second: string | undefined, options: Options) => {
    const isHandle = first !== undefined && (HANDLE.test(first) || (SHOW_WORDS as readonly string[]).includes(first));
    if (first !== undefined && !isHandle && second !== undefined)
      throw new MbfError('MBF1001', `${JSON.stringify(first)} is no handle; E1, E2, … or ${SHOW_WORDS.join(', ')}`);
    const operand = isHandle ? second : first;
    const handle = isHandle ? (HANDLE.test(first) ? first.toUpperCase() : first) : undefined;
    const verdict = parseCount('--verdict', options.verdict);
    const limit = countOption('--limit', options.limit);
    const capacityBytes = capacityOption(options.capacity);
    const opened = await openTarget(operand, options, context);
    const target = await withHistories(opened, await snapshotsToJudge(opened.store, opened.runId), options);
    try {
      const result = await diagnose(target.store, target.runId, target.run, {
        capacityBytes,
        failedSources: target.failed,
      });
      const shown = await describeShow(target.store, target.runId, result, {
        handle,
        verdict,
        limit,
        readLines: sourceLines,
      });
      answer(context, options, shown, (one) => showText(one, { operand, db: options.db, capacity: options.capacity }));
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
