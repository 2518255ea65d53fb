/** How a run without a failure line ended, if its texts show it. */

import type { Place } from '../../model/place.js';
import { type Statement, statement } from '../../model/statement.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { readLogFacts } from '../run/log-facts.js';
import { capturesFor } from './combine.js';
import { stepsOf } from './describe-answers.js';
import { EvidenceLog } from './facts.js';
import { BLANK, UNDECIDED } from './judge-message.js';

export interface RunEnding {
  /** `finished`: a line reports the end. `silent`: iterations are printed, but no line reports how they ended. */
  readonly kind: 'finished' | 'silent';
  readonly evidence: Statement<'run_finished' | 'last_iteration'>;
  readonly source: Place;
}

/** Of the judged launch; null where no text is about training at all. */
export async function readRunEnding(store: Store, runId: number): Promise<RunEnding | null> {
  const { judged, ends } = await readLogFacts(store, runId);
  const last = (await store.all('log.launch_ends', { run_id: runId })).find(({ attempt }) => attempt === judged);
  if (last === undefined) return null;
  if (last.finished_line !== null && ends[judged - 1]?.ending === 'finished') {
    return {
      kind: 'finished',
      evidence: statement('run_finished', { names: { label: last.finished_label! } }),
      source: { path: last.finished_file!, line: last.finished_line },
    };
  }
  if (last.last_iteration === null) return null;
  return {
    kind: 'silent',
    evidence: statement('last_iteration', { numbers: { iteration: last.last_iteration } }),
    source: { path: last.last_file!, line: last.last_line! },
  };
}

/** The summary for a run of which only texts are known, none of them with a failure. */
export function verdictOfEnding({ kind, evidence: seen, source }: RunEnding): Verdict {
  const evidence = new EvidenceLog();
  evidence.add(seen.kind, source, { numbers: seen.numbers, names: seen.names });
  if (kind !== 'finished') return unknownEnd(kind, evidence.entries);
  return {
    ...BLANK,
    rank: null,
    device: null,
    cause: 'not_oom',
    detail: null,
    confidence: 'high',
    summary: statement(kind),
    evidence: evidence.entries,
    missing: [],
    captures: [],
    steps: [],
  };
}

/**
 * `silent`: no line shows how the run ended: it is running, or the log was cut, and nothing in it failed. `ended`: a
 * launcher ended its processes, and no line shows why.
 */
export function unknownEnd(summary: 'silent' | 'ended', evidence: Verdict['evidence']): Verdict {
  return {
    ...UNDECIDED,
    summary: statement(summary),
    evidence,
    missing: ['run_end'],
    captures: summary === 'silent' ? [] : capturesForEnding(),
    steps: summary === 'silent' ? [] : stepsOf(['name_all_logs']),
  };
}

/** Captures that distinguish a run that ended well from one ended by something outside its traces. */
export function capturesForEnding(): Verdict['captures'] {
  return capturesFor([
    { cause: 'not_oom', capture: 'logs_of_all_ranks' },
    { cause: 'host_oom', capture: 'logs_of_all_ranks' },
  ]);
}
