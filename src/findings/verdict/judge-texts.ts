/** The verdicts on failure lines alone, without a run around them. */

import { forgetRuns, testCauses } from '../../derive/derive.js';
import { namesCause, roleOf } from '../../derive/run/first-failure.js';
import { type Judged, readJudged } from '../../derive/verdict/combine.js';
import { codeFrames, failingSite, readFrames } from '../../derive/verdict/failing-site.js';
import { type Failure, failureOf } from '../../derive/verdict/failures.js';
import { activityOfTraceback } from '../../derive/verdict/rank-facts.js';
import { insertFacts } from '../../derive/verdict/write-facts.js';
import { DERIVE_RULES } from '../../model/derived-tables.js';
import type { IncidentRow } from '../../model/tables.js';
import type { Store } from '../../store/store.js';

export interface JudgedText {
  readonly failure: Failure;
  readonly judged: Judged;
}

/** `scratch` holds each row as the only failure line of a run; they are numbered from 0. `file`: as results name it. */
export async function judgeTexts(
  scratch: Store,
  rows: readonly IncidentRow[],
  file: string,
  capacityBytes?: number,
): Promise<JudgedText[]> {
  const runIds = rows.map((_, i) => i);
  await scratch.transaction(async () => {
    await forgetRuns(scratch, runIds);
    await scratch.insertRows(
      'judged_run',
      rows.map((row, i) => {
        const { kind, text, rank, device } = row;
        const names_cause = namesCause(roleOf(row), row);
        return { run_id: i, rules: DERIVE_RULES, kind, text, names_cause, rank, device };
      }),
    );
    await scratch.insertRows(
      'judged_rank',
      rows.map(({ rank, frame, frames = [] }, i) => ({
        run_id: i,
        rank,
        own_rank: rank,
        // Its traceback is all that is known of it.
        activity: activityOfTraceback(frame, codeFrames(frames)),
        nccl_signs: 0,
      })),
    );
  });
  await insertFacts(scratch, runIds, capacityBytes);
  await testCauses(scratch, runIds);
  const judged = await readJudged(scratch, null);
  const failures = await scratch.all('verdict.failures', { run_id: null });
  // The row of a failure without a device's figures does not have its line.
  return rows.map(({ line }, i) => {
    const row = { ...failures[i]!, message_path: file, message_line: line };
    const failure = failureOf(row, { oom: null, context: undefined }, { jobProcesses: [], engineSign: null });
    const site = failingSite(readFrames(row.frames), failure.facts.printedPlace, row.text ?? '');
    return { failure: { ...failure, site }, judged: judged[i]! };
  });
}
