/**
 * Evidence from a profile of the driver for a run without a message or snapshot of its failure: memory was refused, and
 * what the driver held then.
 */
import type { Verdict } from '../../model/results/common.js';
import type { NsysDriverAccount } from '../../model/results/nsys.js';
import { DRIVER_OWNER_WORDS } from '../../model/results/nsys.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { Store } from '../../store/store.js';
import { rangeStacks } from '../nsys/range-stacks.js';
import { readReportMemory } from '../nsys/report-memory.js';
import { BLANK } from './blank-verdict.js';
import { capturesFor } from './captures.js';
import { EvidenceLog } from './facts.js';

const MOST_OWNERS = 4;

/** One verdict for each process to which the driver refused memory; none where no export shows a refusal. */
export async function profiledRefusals(store: Store, runId: number): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const row of await store.all('nsys.reports', { run_id: runId })) {
    const refused = await store.all('nsys.refused_memory', { source_id: row.source_id });
    if (refused.length === 0) continue;
    const counts = (await store.one('nsys.counts', { source_id: row.source_id }))!;
    const { processes, accounts, storms } = await readReportMemory(store, runId, row, { counts, steps: [] });
    for (const { pid, refusals, last_ns, api, served_after } of refused) {
      const process = processes.find((one) => one.pid === pid);
      const evidence = new EvidenceLog();
      const add = (text: string, about: 'test' | 'context'): void =>
        void evidence.add(text, { path: row.display_path }, { about });
      const times = refusals === 1 ? 'once' : `${formatCount(refusals)} times`;
      add(
        `the driver refused memory to process ${pid ?? 'unknown'} ${times}, last at ${(last_ns / 1e9).toFixed(3)} s (${api})`,
        'test',
      );
      const retries = (storms ?? []).filter((storm) => storm.pid === pid && storm.is_retry);
      if (retries.length > 0) {
        const ms = retries.reduce((sum, { busy_ns }) => sum + busy_ns, 0) / 1e6;
        add(
          `the allocator emptied its cache to try again ${retries.length === 1 ? 'once' : `${formatCount(retries.length)} times`}: ${ms.toFixed(1)} ms of frees`,
          'test',
        );
      }
      const account = (accounts ?? []).find((one) => one.pid === pid);
      const held = account === undefined ? null : addHeldEvidence(account, add);
      const [stack] = await rangeStacks(store, row.source_id, last_ns, pid);
      if (stack !== undefined) add(`in the ranges ${stack.ranges.map(({ text }) => text).join(' › ')}`, 'context');
      const wentOn = served_after > 0;
      verdicts.push({
        ...BLANK,
        rank: process?.rank ?? row.rank,
        device: process?.devices[0] ?? null,
        cause: wentOn ? 'not_oom' : 'undecided',
        detail: null,
        confidence: wentOn ? 'medium' : 'low',
        summary: wentOn
          ? `the driver refused memory ${times}, and gave it after that: retries, which cost time and no run`
          : `the driver refused memory ${times}, and gave none after that${held === null ? '' : ` (${held} were held)`}; the request and PyTorch's side are not known`,
        evidence: evidence.entries,
        ruled_out: [],
        missing: wentOn ? [] : ['the size of the request, and what PyTorch held: calls carry no arguments'],
        captures: wentOn
          ? []
          : capturesFor([
              { cause: 'fragmentation', capture: 'snapshot_at_oom' },
              { cause: 'capacity', capture: 'whole_oom_message' },
            ]),
        request: null,
        next: [
          wentOn
            ? 'see `mbforensics nsys` for what the retries cost; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True often ends them'
            : 'ingest the log of this rank and a memory snapshot into the same run; `mbforensics nsys` has the calls',
        ],
      });
    }
  }
  return verdicts;
}

/** Adds what was held at the refusal, by owner; returns the sum in words. */
function addHeldEvidence({ moments }: NsysDriverAccount, add: (text: string, about: 'context') => void): string | null {
  const moment = moments.find((one) => one.moment === 'oom');
  if (moment === undefined) return null;
  const named = moment.shares
    .slice(0, MOST_OWNERS)
    .map(({ owner, bytes }) => `${DRIVER_OWNER_WORDS[owner]} ${formatBytes(bytes)}`);
  const remainingShares = moment.shares.length - named.length;
  add(`held then: ${named.join(', ')}${remainingShares === 0 ? '' : ` and ${remainingShares} more`}`, 'context');
  return formatBytes(moment.total_bytes);
}
