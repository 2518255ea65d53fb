/** How a run without a failure line ended, if its texts show it. */

import { maxOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import { type Statement, statement } from '../../model/statement.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { iterationSummaries } from '../run/iterations.js';
import { capturesFor } from './combine.js';
import { stepsOf } from './describe-answers.js';
import { EvidenceLog } from './facts.js';
import { BLANK } from './judge-message.js';

export interface RunEnding {
  /** `finished`: a line reports the end. `silent`: iterations are printed, but no line reports how they ended. */
  readonly kind: 'finished' | 'silent';
  readonly evidence: Statement<'run_finished' | 'last_iteration'>;
  readonly source: Place;
}

/** Of the last launch; null where no text is about training at all. */
export async function readRunEnding(store: Store, runId: number): Promise<RunEnding | null> {
  const phases = await store.all('log.phases', { run_id: runId });
  const iterations = (await iterationSummaries(store, runId)).filter((row) => row.attempt !== null);
  const attempt = Math.max(maxOf(phases.map((row) => row.attempt)), maxOf(iterations.map((row) => row.attempt!)));
  const finished = phases.find((row) => row.attempt === attempt && row.phase === 'finished');
  if (finished !== undefined) {
    return {
      kind: 'finished',
      evidence: statement('run_finished', { names: { label: finished.label } }),
      source: { path: finished.display_path, line: finished.line },
    };
  }
  const last = iterations.find((row) => row.attempt === attempt)?.highest ?? null;
  const [phase] = phases.filter((row) => row.attempt === attempt && row.phase === 'training');
  if (last === null || phase === undefined) return null;
  return {
    kind: 'silent',
    evidence: statement('last_iteration', { numbers: { iteration: last } }),
    source: { path: phase.display_path },
  };
}

/** The summary for a run of which only texts are known, none of them with a failure. */
export function verdictOfEnding({ kind, evidence: seen, source }: RunEnding): Verdict {
  const evidence = new EvidenceLog();
  evidence.add(seen.kind, source, { numbers: seen.numbers, names: seen.names });
  const finished = kind === 'finished';
  return {
    ...BLANK,
    rank: null,
    device: null,
    cause: finished ? 'not_oom' : 'undecided',
    detail: null,
    confidence: finished ? 'high' : 'low',
    summary: statement(kind),
    evidence: evidence.entries,
    missing: finished ? [] : ['run_end'],
    captures: finished ? [] : capturesForEnding(),
    steps: finished ? [] : stepsOf(['name_all_logs']),
  };
}

/** Captures that distinguish a run that ended well from one ended by something outside its traces. */
export function capturesForEnding(): Verdict['captures'] {
  return capturesFor([
    { cause: 'not_oom', capture: 'logs_of_all_ranks' },
    { cause: 'host_oom', capture: 'logs_of_all_ranks' },
  ]);
}
