/** `mbforensics explain text`: the failures of one text, and the verdict on the one that came first. */

import { unknownTo } from '../../derive/lint/expandable-constraint.js';
import { readFirstFailure } from '../../derive/run/first-failure-result.js';
import { incidentOfRow } from '../../derive/run/incidents.js';
import { torchOfMessages } from '../../derive/settings/versions.js';
import { capturesFor } from '../../derive/verdict/combine.js';
import { stepsOf } from '../../derive/verdict/describe-answers.js';
import { EvidenceLog } from '../../derive/verdict/facts.js';
import { isFirstExit, verdictOfExit } from '../../derive/verdict/first-exit.js';
import { allowedSteps } from '../../derive/verdict/hint.js';
import { judgeMessage, shorten, UNDECIDED } from '../../derive/verdict/judge-message.js';
import type { Classification } from '../../model/results/log.js';
import { statement } from '../../model/statement.js';
import type { IncidentRow } from '../../model/tables.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { judgeTexts } from './judge-texts.js';

const NOTHING: Verdict = {
  ...UNDECIDED,
  summary: statement('no_failure_line'),
  missing: ['failure_lines'],
  captures: capturesFor([{ cause: 'undecided', capture: 'logs_of_all_ranks' }]),
  steps: stepsOf(['name_whole_log']),
};

export interface ClassifyOptions {
  /** Total of the device, where no message prints it. */
  readonly capacityBytes?: number | undefined;
}

/**
 * `source` is the file's name as results name it; `rows` in the order of their lines. `scratch`: a store that holds one
 * of them as the only line of run 0, see `insertLines`; asked for only if there is a failure.
 */
export async function classify(
  rows: readonly IncidentRow[],
  source: string,
  scratch: (row: IncidentRow) => Promise<Store>,
  options: ClassifyOptions = {},
): Promise<Classification> {
  const incidents = rows.map((row) => incidentOfRow(row, source));
  // A text that only mentions failures does not have a first one; its first mention is judged as a mention.
  const first = readFirstFailure(incidents);
  const index = first?.incident ?? (incidents.length > 0 ? 0 : null);
  if (index === null) return { source, incidents, incident: null, verdict: NOTHING };
  const row = rows[index]!;
  if (first !== null && isFirstExit(first, incidents[index]!)) {
    const evidence = new EvidenceLog();
    const names = { incident: row.kind, text: shorten(row.text) };
    evidence.add('failure_line', { path: source, line: row.line }, { names, about: 'message' });
    const verdict = verdictOfExit(incidents[index]!, incidents, null, evidence.entries);
    return { source, incidents, incident: index, verdict };
  }
  const [text] = await judgeTexts(await scratch(row), [row], source, options.capacityBytes);
  const verdict = judgeMessage(text!.failure, text!.judged);
  const torch = torchOfMessages([row]);
  const steps = allowedSteps(verdict.steps, torch === null ? null : unknownTo(torch));
  return { source, incidents, incident: index, verdict: { ...verdict, steps } };
}
