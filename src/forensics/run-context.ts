/** What the rest of a run says about one of its ranks: allocator variables, memory lines, growth, the other ranks. A message alone knows none of it. */
import { readAllocConf } from '../allocator/settings.js';
import { formatBytes, formatCount } from '../model/units.js';
import type { Store } from '../store/store.js';
import type { AllocatorFacts, EvidenceLog, Figure, Growth } from './verdict/facts.js';

/** Variables that carry allocator settings, the one torch obeys first. Torch 2.9 and later read the second, older ones the first only. */
const VARIABLES = ['PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF', 'PYTORCH_HIP_ALLOC_CONF'] as const;

interface ConfRow {
  readonly rank: number | null;
  readonly key: string;
  readonly value: string | null;
  readonly origin: string;
  readonly display_path: string;
  readonly line: number;
}
interface MemoryRow {
  readonly rank: number | null;
  readonly metric: string;
  readonly last_value: number;
  readonly last_bytes: number | null;
  readonly max_bytes: number | null;
  readonly max_value: number;
  readonly last_iteration: number | null;
  readonly display_path: string;
  readonly line: number;
}

/** Facts of one rank that are in no message of it. */
export interface RankContext {
  readonly allocator: AllocatorFacts | null;
  readonly growth: Growth | null;
  /** Adds what a reader should know beside a message, or beside a snapshot, which tells of its own rank all there is. */
  tell(evidence: EvidenceLog, total: Figure | null, beside: 'message' | 'snapshot'): void;
}

export interface RunContext {
  of(rank: number | null): RankContext;
}

/** Reads a run's context once. */
export async function readRunContext(store: Store, runId: number): Promise<RunContext> {
  const conf = await store.all('context.allocator_conf', { run_id: runId });
  const memory = await store.all('context.memory', { run_id: runId });
  const growth = await store.all('context.growth', { run_id: runId });
  const ranks = new Set(memory.map(({ rank }) => rank));
  return {
    of(rank) {
      // Without a rank, the one writer there is must be the one that failed.
      const own = rank ?? (ranks.size === 1 ? [...ranks][0]! : null);
      const isOwn = (row: { readonly rank: number | null }): boolean => row.rank === own;
      const grown = growth.find(isOwn);
      const lines = new Map(memory.filter(isOwn).map((row) => [row.metric, row]));
      const others = memory.filter((row) => !isOwn(row));
      const allocator = allocatorOf(conf, own);
      return {
        allocator: allocator?.facts ?? null,
        growth:
          grown === undefined || grown.bytes_per_iteration === null
            ? null
            : {
                samples: grown.samples,
                firstIteration: grown.first_iteration,
                lastIteration: grown.last_iteration,
                firstBytes: grown.first_bytes,
                lastBytes: grown.last_bytes,
                bytesPerIteration: grown.bytes_per_iteration,
                r2: grown.r2 ?? 0,
                source: grown.display_path,
              },
        tell(evidence, total, beside) {
          if (beside === 'message') {
            if (allocator !== null) evidence.add(allocator.text, allocator.facts.source);
            tellMemory(lines, evidence);
          }
          tellOthers(own, others, total, evidence);
        },
      };
    },
  };
}

function allocatorOf(
  rows: readonly ConfRow[],
  rank: number | null,
): { readonly facts: AllocatorFacts; readonly text: string } | null {
  // Rows come strongest first; a rank's own environment goes before what is said of all.
  const mine = rows.filter((row) => row.rank === rank && rank !== null);
  const common = rows.filter((row) => row.rank === null);
  const found = [...mine, ...common].find(({ key }) => VARIABLES.some((name) => name === key));
  if (found === undefined) return null;
  const { settings, problems } = readAllocConf(found.value ?? '');
  const set = found.value === null ? 'unset' : `set to ${JSON.stringify(found.value)}`;
  const trouble = problems.length === 0 ? '' : `; torch refuses it: ${problems[0]}`;
  const source = `${found.display_path} line ${formatCount(found.line)}`;
  return {
    facts: { expandableSegments: settings.expandableSegments, maxSplitBytes: settings.maxSplitBytes, source },
    text: `${found.key} is ${set} (${found.origin}): expandable segments ${settings.expandableSegments ? 'on' : 'off'}${trouble}`,
  };
}

/** The rank's own last memory line: what it held before it failed, and the signs of pressure in it. */
function tellMemory(lines: ReadonlyMap<string, MemoryRow>, evidence: EvidenceLog): void {
  const reserved = lines.get('max_reserved') ?? lines.get('reserved');
  const allocated = lines.get('max_allocated') ?? lines.get('allocated');
  const shown = reserved ?? allocated;
  if (shown === undefined) return;
  const parts: string[] = [];
  if (allocated?.last_bytes != null) parts.push(`peak allocated ${formatBytes(allocated.last_bytes)}`);
  if (reserved?.last_bytes != null) parts.push(`peak reserved ${formatBytes(reserved.last_bytes)}`);
  const split = lines.get('inactive_split');
  if (split?.last_bytes != null && split.last_bytes > 0)
    parts.push(`${formatBytes(split.last_bytes)} in unusable remainders of split blocks`);
  const when = shown.last_iteration === null ? '' : ` (iteration ${formatCount(shown.last_iteration)})`;
  const source = `${shown.display_path} line ${formatCount(shown.line)}`;
  if (parts.length > 0) evidence.add(`last memory line before it${when}: ${parts.join(', ')}`, source);
  const retries = lines.get('alloc_retries');
  if (retries !== undefined && retries.max_value > 0) {
    const times = retries.max_value === 1 ? 'once' : `${formatCount(retries.max_value)} times`;
    evidence.add(
      `the driver had refused memory ${times} before and the cache was flushed (allocation retries): near its limit already`,
      `${retries.display_path} line ${formatCount(retries.line)}`,
    );
  }
}

/** Headroom elsewhere: one rank that fails beside others with room is not a model that does not fit everywhere. */
function tellOthers(
  rank: number | null,
  others: readonly MemoryRow[],
  total: Figure | null,
  evidence: EvidenceLog,
): void {
  const reserved = others.filter((row) => row.metric === 'max_reserved' && row.max_bytes !== null && row.rank !== null);
  if (rank === null || reserved.length === 0) return;
  const most = reserved.reduce((best, row) => (row.max_bytes! > best.max_bytes! ? row : best));
  const room = total === null ? '' : `, ${formatBytes(total.bytes - most.max_bytes!)} below the device's total`;
  const count = new Set(reserved.map((row) => row.rank)).size;
  const who = count === 1 ? `rank ${most.rank}` : `${formatCount(count)} other ranks (most: rank ${most.rank})`;
  evidence.add(
    `elsewhere: ${who} reserved at most ${formatBytes(most.max_bytes!)}${room}`,
    `${most.display_path} line ${formatCount(most.line)}`,
  );
}
