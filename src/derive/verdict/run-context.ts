/** The evidence that the rest of a run adds to a failure of one of its ranks. */
import type { Store } from '../../store/store.js';
import { readRunTexts } from '../run/run-texts.js';
import type { EvidenceLog, OomFacts } from './facts.js';
import type { MemoryLines } from './memory-lines.js';
import { type RankFacts, readRankFacts, savingSince } from './rank-facts.js';
import {
  addDriverEvidence,
  addHostMemoryEvidence,
  addMemoryEvidence,
  addMonitorEvidence,
  addOtherRanksEvidence,
} from './run-evidence.js';

export interface RankContext extends RankFacts {
  /** Adds the context that a reader needs with a message, or with a snapshot, which is complete for its own rank. */
  addEvidence(evidence: EvidenceLog, facts: OomFacts, basis: 'message' | 'snapshot'): void;
}

export interface RunContext {
  of(rank: number | null): RankContext;
  /** Adds what was sampled of the host's memory, for a failure of host memory. */
  addHostEvidence(evidence: EvidenceLog): void;
}

/** Reads a run's context once. `memory`: of the ranks that are asked for. */
export async function readRunContext(store: Store, runId: number, memory: MemoryLines): Promise<RunContext> {
  const ranks = await readRankFacts(store, runId);
  const saving = savingSince(await readRunTexts(store, runId));
  const hostMemory = await store.all('outside.host_memory', { run_id: runId });
  return {
    addHostEvidence: (evidence) => addHostMemoryEvidence(runId, hostMemory, evidence),
    of(rank) {
      const ownRank = memory.ownRank(rank);
      const known = ranks.of(ownRank);
      return {
        ...known,
        addEvidence(evidence, facts, basis) {
          const { allocator, driver, monitor } = known;
          if (basis === 'message') {
            if (allocator !== null) evidence.add('allocator_setting', allocator.source, { names: allocator.names });
            addMemoryEvidence(new Map(memory.of(ownRank).map((row) => [row.metric, row])), evidence);
          }
          if (ownRank !== null) addOtherRanksEvidence(facts, evidence);
          if (driver !== null) addDriverEvidence(driver, evidence);
          if (monitor !== null) addMonitorEvidence(runId, monitor, evidence);
          if (saving !== null)
            evidence.add('checkpoint_announced', saving.source, { numbers: { iteration: saving.iteration } });
        },
      };
    },
  };
}
