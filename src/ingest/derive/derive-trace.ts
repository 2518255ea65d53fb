/**
 * The traces of a file, device by device, in the memory of the WebAssembly module, and what follows from their entries
 * alone: counts, sums, and breaches of their order. Sizes on trace entries are *requested* bytes; nothing here knows
 * actual block sizes (that is `src/wasm/assembly/walk.ts`).
 */
import { type ColumnBatch, ENUMS, LAYOUTS, type TableRows } from '../../model/columns.js';
import { MbfError } from '../../model/errors.js';
import { getOrAdd } from '../../model/group-by.js';
import { BATCH_ROWS, type Note } from '../../model/tables.js';
import type { TraceAction } from '../../model/vocabulary.js';
import { TraceModule } from '../../wasm/trace-module.js';

type Deltas = 'requestedDeltaBytes' | 'requestedDeltaPeakBytes' | 'reservedDeltaBytes' | 'reservedDeltaPeakBytes';
/** What a device's trace adds up to. Deltas count from 0 at the first entry. */
export interface DeviceTrace
  extends NonNull<
      Pick<TableRows['snapshot_device'], 'events' | 'unmatchedFreeBytes' | 'firstAction' | 'lastAction' | Deltas>
    >,
    Pick<TableRows['snapshot_device'], 'device' | 'requestedDeltaPeakSeq'> {
  /** Only actions that occur. */
  readonly actions: ReadonlyMap<TraceAction, number>;
}
type NonNull<Row> = { readonly [Field in keyof Row]: NonNullable<Row[Field]> };

/** As `traceFigures` of the module writes them; the counts of actions follow. */
const FIGURES = [
  ...(['events', 'firstAction', 'lastAction', 'firstTimeUs', 'unmatched', 'requested', 'requestedPeak'] as const),
  ...(['requestedPeakSeq', 'reserved', 'reservedPeak', 'disorder', 'disorderSeq'] as const),
];

/** As the module counts them. */
const MOST_ACTIONS = 32;

export class Traces {
  readonly module: TraceModule;
  /** Numbers of the traces in the module, by device. */
  private readonly numbers = new Map<number, number>();
  /** For batches that are not in the module's memory. */
  private copy: ColumnBatch | undefined;

  constructor(module = TraceModule.take()) {
    this.module = module;
  }

  /** Frees what they take of the module's memory. */
  close(): void {
    if (this.copy !== undefined) this.module.releaseBatch(this.copy);
    this.module.exports.reset();
  }

  /** Batches come in trace order, one device after another. */
  add(batch: ColumnBatch): void {
    const { module } = this;
    if (batch.arrays[0]!.buffer !== module.buffer) {
      this.copy ??= module.batch(LAYOUTS.trace_entry, Math.min(BATCH_ROWS, Math.max(1024, batch.capacity)));
      this.copy.copyFrom(batch);
    }
    const inside = batch.arrays[0]!.buffer === module.buffer ? batch : this.copy!;
    const device = inside.i32('device').slice(0, batch.rows);
    const { action, addr, size_bytes, stream, time_us, pool, stack_id, ...texts } = inside.columns(LAYOUTS.trace_entry);
    const columns = [action, addr, size_bytes, stream, time_us, pool, stack_id];
    const places = [...columns, texts.compile_context_id, texts.user_metadata_id].map((column) => column.byteOffset);
    for (let from = 0; from < batch.rows; ) {
      let to = from + 1;
      while (to < batch.rows && device[to] === device[from]) to += 1;
      this.select(device[from]!);
      const inexact = module.exports.addEntries(from, to, ...places);
      module.refresh();
      if (inexact >= 0) {
        // Sums beyond 2^53 are not exact any more, and beyond 2^63 they are nonsense; a petabyte-sized device is
        // neither near.
        const fact = `the sizes of the trace of device ${device[from]} add up to more than 2^53 bytes at entry ${inexact}`;
        throw new MbfError('MBF2107', fact);
      }
      from = to;
    }
  }

  /** Makes the trace of a device the one that the module works on; an empty one where the file has none. */
  select(device: number): void {
    const { exports } = this.module;
    exports.selectTrace(getOrAdd(this.numbers, device, () => exports.openTrace()));
  }

  devices(): DeviceTrace[] {
    return this.sorted().map((device) => {
      const { figures, counts } = this.figures(device);
      return {
        device,
        events: figures.events,
        actions: new Map(
          ENUMS.trace_action.map((action, code) => [action, counts[code]!] as const).filter(([, n]) => n > 0),
        ),
        firstAction: ENUMS.trace_action[figures.firstAction]!,
        lastAction: ENUMS.trace_action[figures.lastAction]!,
        unmatchedFreeBytes: figures.unmatched,
        requestedDeltaBytes: figures.requested,
        requestedDeltaPeakBytes: figures.requestedPeak,
        requestedDeltaPeakSeq: figures.requestedPeakSeq < 0 ? null : figures.requestedPeakSeq,
        reservedDeltaBytes: figures.reserved,
        reservedDeltaPeakBytes: figures.reservedPeak,
      };
    });
  }

  /** Breaches of the order alloc → free_requested → free_completed → alloc at one address (FORMAT.md, invariant 4). */
  notes(): Note[] {
    return this.sorted().flatMap((device) => {
      const { disorder, disorderSeq } = this.figures(device).figures;
      const text = 'an address is allocated while live, or freed out of order';
      const note = { kind: 'invariant_alternation', severity: 'warning', text, device } as const;
      return disorder > 0 ? [{ ...note, seq: disorderSeq, count: disorder }] : [];
    });
  }

  /** Time of the earliest entry, µs; null where no entry has one. */
  firstTimeUs(device: number): number | null {
    const { firstTimeUs } = this.figures(device).figures;
    return Number.isNaN(firstTimeUs) ? null : firstTimeUs;
  }

  /** For each of the times (µs, ascending) the last entry that is not later; −1 = none. */
  lastSeqs(device: number, times: Float64Array): Int32Array {
    const { module } = this;
    this.select(device);
    const count = times.length;
    return module.during(Math.max(1, count) * 12, (place) => {
      new Float64Array(module.buffer, place, count).set(times);
      module.exports.lastSeqs(count, place, place + count * 8);
      return new Int32Array(module.buffer, place + count * 8, count).slice();
    });
  }

  private figures(device: number) {
    this.select(device);
    const length = FIGURES.length + MOST_ACTIONS;
    const numbers = this.module.numbers(length, (to) => this.module.exports.traceFigures(to));
    const figures = Object.fromEntries(FIGURES.map((name, i) => [name, numbers[i]!]));
    return {
      figures: figures as Readonly<Record<(typeof FIGURES)[number], number>>,
      counts: numbers.subarray(FIGURES.length),
    };
  }

  private sorted(): number[] {
    return [...this.numbers.keys()].sort((a, b) => a - b).filter((device) => this.figures(device).figures.events > 0);
  }
}
