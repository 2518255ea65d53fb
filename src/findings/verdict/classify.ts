/** `mbforensics classify`: the failures of one text, and the verdict on the one that came first. */
import type { ClassifyResult, ClassifyVerdict } from '../../model/results/log.js';
import type { IncidentRow } from '../../model/tables.js';
import type { Store } from '../../store/store.js';
import { readFirstFailure } from '../run/first-failure-result.js';
import { incidentOfRow } from '../run/incidents.js';
import { BLANK } from './blank-verdict.js';
import { capturesFor } from './captures.js';
import { finish, judgeMessage } from './judge-message.js';
import { judgeTexts } from './judge-texts.js';

const NOTHING: ClassifyVerdict = {
  ...BLANK,
  incident: null,
  rank: null,
  device: null,
  cause: 'undecided',
  detail: null,
  confidence: 'low',
  summary: 'no failure message is recognised in this text',
  evidence: [],
  ruled_out: [],
  captures: capturesFor([{ cause: 'undecided', capture: 'logs_of_all_ranks' }]),
  missing: ['the lines of the failure itself: the last hundred lines of every rank, not of rank 0 alone'],
  next: ['paste or name the whole log; failures are often printed by another rank than the one that is looked at'],
  request: null,
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
): Promise<ClassifyResult> {
  const incidents = rows.map((row) => incidentOfRow(row, source));
  // A text that only mentions failures does not have a first one; its first mention is judged as a mention.
  const index = readFirstFailure(incidents)?.incident ?? (incidents.length > 0 ? 0 : null);
  let verdict = NOTHING;
  if (index !== null) {
    const row = rows[index]!;
    const [text] = await judgeTexts(await scratch(row), [row], options.capacityBytes);
    verdict = { ...finish(judgeMessage(text!.failure, text!.judged), null), incident: index };
  }
  return { schema: 'mbforensics/classify@1', source, incidents, verdict };
}
