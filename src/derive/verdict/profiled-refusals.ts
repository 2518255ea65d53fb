/**
 * Evidence from a profile of the driver for a run without a message or snapshot of its failure: memory was refused, and
 * what the driver held then.
 */
import { sumOf } from '../../model/lists.js';
import { type Figures, known, statement } from '../../model/statement.js';
import type { EvidenceKind, Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { rangeStacks } from '../nsys/range-stacks.js';
import { readReportMemory } from '../nsys/report-memory.js';
import { capturesFor } from './combine.js';
import { stepsOf } from './describe-answers.js';
import { EvidenceLog } from './facts.js';
import { BLANK } from './judge-message.js';
import { ownersOf } from './run-evidence.js';

/** One verdict for each process to which the driver refused memory; none where no export shows a refusal. */
export async function profiledRefusals(store: Store, runId: number): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const row of await store.all('nsys.reports', { run_id: runId })) {
    const refused = await store.all('nsys.refused_memory', { source_id: row.source_id });
    if (refused.length === 0) continue;
    const counts = (await store.one('nsys.counts', { source_id: row.source_id }))!;
    const { processes, accounts, storms } = await readReportMemory(store, runId, row, { counts, steps: [] });
    for (const { pid, refusals: times, last_ns, api, served_after } of refused) {
      const process = processes.find((one) => one.pid === pid);
      const evidence = new EvidenceLog();
      const add = (kind: EvidenceKind, about: 'test' | 'context', figures: Partial<Figures>): void =>
        evidence.add(kind, { path: row.display_path }, { ...figures, about });
      add('process_refused', 'test', { numbers: known({ pid, times, last_s: last_ns / 1e9 }), names: { api } });
      const retries = (storms ?? []).filter((storm) => storm.pid === pid && storm.is_retry);
      if (retries.length > 0) {
        const retry_ms = sumOf(retries.map(({ busy_ns }) => busy_ns)) / 1e6;
        add('cache_flushes', 'test', { numbers: { retries: retries.length, retry_ms } });
      }
      const account = (accounts ?? []).find((one) => one.pid === pid);
      const held = account?.moments.find((one) => one.moment === 'oom');
      if (held !== undefined) add('held_at_refusal', 'context', { items: ownersOf(held.shares) });
      const [stack] = await rangeStacks(store, row.source_id, last_ns, pid);
      if (stack !== undefined)
        add('nvtx_ranges', 'context', { items: stack.ranges.map(({ text }) => ({ name: text, numbers: {} })) });
      const wentOn = served_after > 0;
      verdicts.push({
        ...BLANK,
        rank: process?.rank ?? row.rank,
        device: process?.devices[0] ?? null,
        cause: wentOn ? 'not_oom' : 'undecided',
        detail: null,
        confidence: wentOn ? 'medium' : 'low',
        summary: statement(wentOn ? 'retried' : 'refused', {
          numbers: known({ times, held_bytes: held?.total_bytes }),
        }),
        evidence: evidence.entries,
        missing: wentOn ? [] : ['refused_size'],
        captures: wentOn
          ? []
          : capturesFor([
              { cause: 'fragmentation', capture: 'snapshot_at_oom' },
              { cause: 'capacity', capture: 'whole_oom_message' },
            ]),
        steps: stepsOf([wentOn ? 'see_retries' : 'ingest_rank']),
      });
    }
  }
  return verdicts;
}
