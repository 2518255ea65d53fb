/** The known facts of one out-of-memory failure: from an OOM entry of a snapshot, from a log message, or from both. */
import type { Place } from '../../model/place.js';
import { type Figures, type Statement, statement } from '../../model/statement.js';
import type { Evidence, EvidenceKind, EvidenceTopic } from '../../model/verdict.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { DriverMemory } from '../nsys/run-memory.js';
import type { MonitorFacts } from '../outside/monitor-facts.js';
import type { JobProcess } from './job-processes.js';

/** The source of a device total that the user gave. */
export const CAPACITY: Place = { option: '--capacity' };

/** Up to so many snapshots, the traces of ranks that did not fail are also read, to compare ranks. */
export const MOST_COMPARED_SNAPSHOTS = 8;

/** The last OOM entry of one device's trace. */
export type TracedOom = QueryRow<'verdict.traced_ooms'>;

/** A figure with its source. */
export interface Figure {
  readonly bytes: number;
  readonly source: Place;
}

/** The row of a failure, and what is not a column of it. */
export interface OomFacts extends QueryRow<'verdict.failures'> {
  /** Of the device. */
  readonly total: Figure | null;
  /** The entry of the trace, else the line of the message: the source of figures without another one below. */
  readonly place: Place;
  /** Of the message, which alone has the process, other processes, and the limit of a memory fraction. */
  readonly printedPlace: Place;
  readonly freePlace: Place;
  /** Of the allocator's settings; null where none are known. */
  readonly allocatorPlace: Place | null;
  readonly activityPlace: Place;
  /** Bytes of the reserve by part, divided for the request that failed; null without a trace. */
  readonly parts: ReadonlyMap<string, number> | null;
  /** The free memory that was searched for the request, in a trace. */
  readonly searched: Pick<QueryRow<'verdict.oom_free'>, 'pinned_segments' | 'pinning_bytes'> | undefined;
  /** Steps passed before the OOM, oldest first: whole, or cut off at the ring's beginning. */
  readonly steps: readonly Omit<QueryRow<'verdict.steps'>, 'failure'>[];
  /** Sites that keep something of every step, the largest first. */
  readonly kept: readonly Omit<QueryRow<'verdict.kept'>, 'failure'>[];
  /** Other processes on the device that the logs name. */
  readonly jobProcesses: readonly JobProcess[];
  /** That the run trains and generates on the same devices; null without other processes, too. */
  readonly engineSign: QueryRow<'incident.engine_sign'> | null;
  /** Signs that NCCL holds much: its settings, its own failures. */
  readonly nccl: readonly (Statement<'nccl_setting' | 'nccl_failure'> & { readonly source: Place })[];
  readonly driver: Pick<DriverMemory, 'outside' | 'source'> | null;
  readonly monitor: MonitorFacts | null;
}

/** A piece of evidence before it has its handle. */
export type EvidenceMore = Partial<Figures> & Pick<Evidence, 'about' | 'query'>;

/** Numbers the evidence of one answer. */
export class EvidenceLog {
  readonly entries: Evidence[] = [];
  readonly #seen = new Set<string>();

  /** `query`: of its rows, if the place does not determine them. The same statement on the same place is kept once. */
  add(kind: EvidenceKind, place: Place, { about, query, ...figures }: EvidenceMore = {}): void {
    const entry = statement(kind, figures);
    const key = JSON.stringify([entry, place]);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const id = `E${this.entries.length + 1}`;
    const more = { ...(about === undefined ? {} : { about }), ...(query === undefined ? {} : { query }) };
    this.entries.push({ id, ...entry, place, ...more });
  }

  /** Sets the topic of the entries from index `from` on that do not have one. */
  mark(from: number, about: EvidenceTopic): void {
    for (let i = from; i < this.entries.length; i += 1)
      this.entries[i] = { ...this.entries[i]!, about: this.entries[i]!.about ?? about };
  }
}
