/** The evidence that the rest of a run adds to a failure of one of its ranks. */

import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { readRunTexts } from '../run/run-texts.js';
import type { EvidenceLog, Figure } from './facts.js';
import { readMemoryLines } from './memory-lines.js';
import { type RankFacts, readRankFacts, savingSince } from './rank-facts.js';
import {
  addDriverEvidence,
  addHostMemoryEvidence,
  addMemoryEvidence,
  addMonitorEvidence,
  addOtherRanksEvidence,
  type Reserves,
} from './run-evidence.js';

export interface RankContext extends RankFacts {
  /** Adds the context that a reader needs with a message, or with a snapshot, which is complete for its own rank. */
  addEvidence(evidence: EvidenceLog, total: Figure | null, basis: 'message' | 'snapshot'): void;
}

export interface RunContext {
  of(failure: QueryRow<'verdict.failures'>): RankContext;
  /** Adds what was sampled of the host's memory, for a failure of host memory. */
  addHostEvidence(evidence: EvidenceLog): void;
}

/** Reads a run's context once. */
export async function readRunContext(store: Store, runId: number): Promise<RunContext> {
  const memory = await readMemoryLines(store, runId);
  const ranks = await readRankFacts(store, runId);
  const saving = savingSince(await readRunTexts(store, runId));
  const hostMemory = await store.all('outside.host_memory', { run_id: runId });
  return {
    addHostEvidence: (evidence) => addHostMemoryEvidence(runId, hostMemory, evidence),
    of(failure) {
      const ownRank = memory.ownRank(failure.rank);
      const facts = ranks.of(ownRank);
      return {
        ...facts,
        addEvidence(evidence, total, basis) {
          const { allocator, driver, monitor } = facts;
          if (basis === 'message') {
            if (allocator !== null)
              evidence.add('allocator_setting', allocator.facts.source, { names: allocator.names });
            addMemoryEvidence(new Map(memory.of(ownRank).map((row) => [row.metric, row])), evidence);
          }
          if (ownRank !== null) addOtherRanksEvidence(reservesOf(failure), total, evidence);
          if (driver !== null) addDriverEvidence(driver, evidence);
          if (monitor !== null) addMonitorEvidence(runId, monitor, evidence);
          if (saving !== null)
            evidence.add('checkpoint_announced', saving.source, { numbers: { iteration: saving.iteration } });
        },
      };
    },
  };
}

/** What the other ranks reserved at most. */
function reservesOf(failure: QueryRow<'verdict.failures'>): Reserves {
  const { others_reserved_rank: rank, others_reserved_bytes: max_bytes } = failure;
  const { others_reserved_path: display_path, others_reserved_line: line } = failure;
  return {
    ranks: failure.other_ranks ?? 0,
    most: display_path === null ? undefined : { rank, max_bytes, display_path, line: line! },
  };
}
