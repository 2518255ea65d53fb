/** What is known of one out-of-memory failure, from an OOM entry of a snapshot, from a message in a log, or from both. */
import type { Evidence, EvidenceTopic } from '../../model/results.js';
import type { Cause, CauseDetail, Confidence } from '../../model/vocabulary.js';

/** The source of a device total that the user gave. */
export const CAPACITY_OPTION = '--capacity';

/** A figure with how exactly it is known and where it stands. */
export interface Figure {
  readonly bytes: number;
  /** 0 for figures of a snapshot; half of the last printed digit for those of a message. */
  readonly precisionBytes: number;
  readonly source: string;
}

/** Free blocks inside the reserve that share one reason why the request could not have them. */
export interface FreeClass {
  readonly bytes: number;
  readonly largestBytes: number;
  readonly count: number;
}

/** The free part of the reserve when the request failed; torch only looks in the pool, size class and stream of the request. */
export interface FreeSpace {
  /** Same pool, size class and stream: only too small. */
  readonly usable: FreeClass;
  readonly otherStream: FreeClass;
  /** The small pool's for a large request, and the other way round. */
  readonly otherClass: FreeClass;
  readonly privatePool: FreeClass;
  /** Segments that hold usable free blocks and live blocks: what keeps them from going back to the driver. */
  readonly pinnedSegments: number;
  readonly pinningBytes: number;
}

export interface Walk {
  /** Nothing contradicted the allocator's rules on the way back from the final state. */
  readonly exact: boolean;
  readonly violations: number;
  readonly uncertainBlocks: number;
  readonly uncertainBytes: number;
}

export interface AllocatorFacts {
  readonly expandableSegments: boolean;
  readonly maxSplitBytes: number;
  readonly source: string;
}

/** Allocated memory over the iterations of one rank, its first printed iteration left out. */
export interface Growth {
  readonly samples: number;
  readonly firstIteration: number;
  readonly lastIteration: number;
  readonly firstBytes: number;
  readonly lastBytes: number;
  /** Slope of the straight line through the samples, and its coefficient of determination. */
  readonly bytesPerIteration: number;
  readonly r2: number;
  readonly source: string;
}

export interface OomFacts {
  readonly rank: number | null;
  readonly device: number | null;
  /** Rounded bytes asked for. */
  readonly request: Figure | null;
  /** The least the request can have been: a message prints the *segment* it wanted (2 MiB for anything up to 1 MiB, 20 MiB below 10). */
  readonly requestAtLeastBytes: number;
  /** What the driver was asked for. */
  readonly segmentBytes: number | null;
  readonly requestSite: string | null;
  /** From the driver through this allocator. */
  readonly reserved: Figure | null;
  /** Handed out and not freed. */
  readonly allocated: Figure | null;
  /** Freed by the program, waiting for another stream. */
  readonly pending: Figure | null;
  /** Requested bytes of pending frees that torch waited for just before it gave up; they are free at the OOM. */
  readonly freedByWait: Figure | null;
  readonly deviceFree: Figure | null;
  readonly total: Figure | null;
  /** All memory of this process, NCCL and the CUDA context included. */
  readonly process: Figure | null;
  readonly otherProcesses: readonly Figure[];
  /** A memory fraction's limit. */
  readonly allowed: Figure | null;
  /** Reserved by private pools (CUDA graphs, MemPool), in whole, and the free part of it. */
  readonly privatePools: Figure | null;
  readonly privatePoolFree: Figure | null;
  /** What live blocks of at least `max_split_size` have beyond their requests: such blocks are handed out whole. */
  readonly oversizeSlack: Figure | null;
  readonly free: FreeSpace | null;
  readonly allocator: AllocatorFacts | null;
  readonly growth: Growth | null;
  readonly walk: Walk | null;
  readonly freedAfterOom: boolean;
}

/** What this process could have had at most: reserve plus free device memory, within the fraction's limit if there is one. */
export function budget(facts: OomFacts): Figure | null {
  if (facts.reserved === null || facts.deviceFree === null) return null;
  const bytes = facts.reserved.bytes + facts.deviceFree.bytes;
  const precisionBytes = facts.reserved.precisionBytes + facts.deviceFree.precisionBytes;
  if (facts.allowed !== null && facts.allowed.bytes < bytes) return facts.allowed;
  return { bytes, precisionBytes, source: facts.reserved.source };
}

/** Allocated and pending bytes. */
export function active(facts: OomFacts): Figure | null {
  if (facts.allocated === null) return null;
  return {
    bytes: facts.allocated.bytes + (facts.pending?.bytes ?? 0),
    precisionBytes: facts.allocated.precisionBytes + (facts.pending?.precisionBytes ?? 0),
    source: facts.allocated.source,
  };
}

/** Memory of the device that is neither free nor this allocator's: context, NCCL, libraries, other processes. Needs the total. */
export function outside(facts: OomFacts): Figure | null {
  if (facts.total === null || facts.deviceFree === null) return null;
  const held = facts.reserved ?? facts.process;
  if (held === null) return null;
  return {
    bytes: facts.total.bytes - facts.deviceFree.bytes - held.bytes,
    precisionBytes: facts.total.precisionBytes + facts.deviceFree.precisionBytes + held.precisionBytes,
    source: facts.total.source,
  };
}

/** The answer of one cause's test. */
export type TestOutcome =
  | {
      readonly outcome: 'holds';
      readonly detail: CauseDetail | null;
      readonly confidence: Confidence;
      readonly summary: string;
      readonly next: readonly string[];
    }
  | { readonly outcome: 'fails'; readonly why: string }
  | { readonly outcome: 'not_testable'; readonly needs: string };

export interface CauseTest {
  readonly cause: Cause;
  /** Adds its evidence to `evidence` only where it holds or rules out by a number. */
  run(facts: OomFacts, evidence: EvidenceLog): TestOutcome;
}

/** Numbers the evidence of one answer. */
export class EvidenceLog {
  readonly entries: Evidence[] = [];

  /** `more`: what it is about, and the query of its rows where the place that `source` names does not tell them. */
  add(text: string, source: string, more: Pick<Evidence, 'about' | 'query'> = {}): string {
    const known = this.entries.find((entry) => entry.text === text && entry.source === source);
    if (known !== undefined) return known.id;
    const id = `E${this.entries.length + 1}`;
    this.entries.push({ id, text, source, ...more });
    return id;
  }

  /** Says of the entries from index `from` on what they are about, where they do not say it themselves. */
  mark(from: number, about: EvidenceTopic): void {
    for (let i = from; i < this.entries.length; i += 1)
      this.entries[i] = { ...this.entries[i]!, about: this.entries[i]!.about ?? about };
  }
}
