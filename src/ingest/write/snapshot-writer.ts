/** Writes one memory snapshot into the open transaction: translates ids, derives columns, sums up devices. */
import { figuresStamp, type RunFigures } from '../../attribution/blocks/attribution.js';
import { labelRows } from '../../attribution/blocks/labels.js';
import { RULES_VERSION } from '../../attribution/rules-version.js';
import { type ColumnBatch, LAYOUTS, type TableLayout } from '../../model/columns.js';
import type { Dictionary, SnapshotSummary } from '../../model/parser.js';
import type { EventExtraRow, Note, TraceOomRow } from '../../model/tables.js';
import { deriveOoms } from '../derive/derive-ooms.js';
import {
  type DerivedSnapshotSink,
  type DeviceSums,
  NO_BYTES,
  type SnapshotDerivation,
} from '../derive/derive-snapshot.js';
import type { DeviceTrace } from '../derive/derive-trace.js';
import { historyRow, stepRows } from '../derive/history-rows.js';
import { stepFromName } from '../discover/names/step-from-name.js';
import type { StackKeys } from '../read/content-keys.js';
import { TRAVELLING } from '../read/decode-protocol.js';
import { dumpTrigger } from './dump-trigger.js';
import type { Group } from './group.js';
import type { StoreDictionary, Translation } from './store-dictionary.js';

/** The ring sizes people and frameworks choose: Megatron's 100,000, torch's examples, powers of two. */
const ROUND_RING = /^[1-9]\d?0{3,}$/;

/** Tables that hold rows of the file itself. */
const { segment, block, annotation, host_event, host_segment } = LAYOUTS;
const PARSED: readonly TableLayout[] = [segment, block, annotation, host_event, host_segment];

export interface SnapshotIdentity {
  readonly snapshotId: number;
  readonly sourceId: number;
  readonly runId: number;
  readonly rank: number | null;
  readonly handle: string;
  /** Path of the file: its name may contain the reason and time of the dump. */
  readonly path: string;
  /** What its labels are made with. */
  readonly figures: RunFigures;
}

export class SnapshotWriter implements DerivedSnapshotSink {
  private readonly group: Group;
  readonly identity: SnapshotIdentity;
  private readonly dictionary: Dictionary;
  private readonly translation: Translation;
  private readonly ooms: TraceOomRow[] = [];
  private readonly extras: EventExtraRow[] = [];
  private ended: { readonly summary: SnapshotSummary; readonly derivation: SnapshotDerivation } | undefined;

  static async open(
    group: Group,
    target: StoreDictionary,
    identity: SnapshotIdentity,
    dictionary: Dictionary,
    keys: StackKeys,
  ): Promise<SnapshotWriter> {
    await group.expect(Object.values(TRAVELLING));
    return new SnapshotWriter(group, identity, dictionary, await target.translate(dictionary, keys, group));
  }

  private constructor(group: Group, identity: SnapshotIdentity, dictionary: Dictionary, translation: Translation) {
    this.group = group;
    this.identity = identity;
    this.dictionary = dictionary;
    this.translation = translation;
  }

  segments(batch: ColumnBatch): void {
    this.append(batch);
  }

  blocks(batch: ColumnBatch): void {
    this.append(batch);
  }

  annotations(batch: ColumnBatch): void {
    this.append(batch);
  }

  hostEvents(batch: ColumnBatch): void {
    this.append(batch);
  }

  hostSegments(batch: ColumnBatch): void {
    this.append(batch);
  }

  blockLives(batch: ColumnBatch): void {
    this.append(batch);
  }

  segmentLives(batch: ColumnBatch): void {
    this.append(batch);
  }

  entries(batch: ColumnBatch): void {
    this.append(batch);
  }

  buckets(batch: ColumnBatch): void {
    this.append(batch);
  }

  /** While the other thread derives lifetimes, what appenders still hold is written. */
  parsed(): void {
    this.group.close(PARSED);
  }

  oom(row: TraceOomRow): void {
    this.ooms.push(row);
  }

  eventExtra(row: EventExtraRow): void {
    this.extras.push(row);
  }

  end(summary: SnapshotSummary, derivation: SnapshotDerivation): void {
    this.ended = { summary, derivation };
  }

  private append(batch: ColumnBatch): void {
    batch.i32('snapshot_id').fill(this.identity.snapshotId, 0, batch.rows);
    for (const column of batch.layout.columns) {
      if (column.refersTo === 'stack') this.translation.stacks32(batch.i32(column.name), batch.rows);
      else if (column.refersTo === 'text') this.translation.texts32(batch.i32(column.name), batch.rows);
    }
    this.group.append(batch);
  }

  /** Writes the small tables; `notes` are those of the parser. Returns the notes that only the whole trace shows. */
  finish(notes: readonly Note[]): Note[] {
    const { group, identity, ended } = this;
    if (ended === undefined) throw new Error('the parser did not end its snapshot');
    const { summary, derivation } = ended;
    this.translation.finish();
    const snapshot_id = identity.snapshotId;
    const { traces } = derivation;
    const sums = new Map(derivation.sums.map((sum) => [sum.device, sum]));
    const derivedNotes = [...derivation.notes, ...traceNotes(traces, sums, summary)];
    const lastIsOom = traces.some((trace) => trace.lastAction === 'oom');
    const step = stepFromName(identity.path);
    const trigger = dumpTrigger(identity.path, lastIsOom, step);
    const broken = [...notes, ...derivedNotes].some((note) => note.kind.startsWith('invariant_'));
    group.insert('snapshot', [
      {
        snapshot_id,
        source_id: identity.sourceId,
        run_id: identity.runId,
        rank: identity.rank,
        handle: identity.handle,
        protocol: summary.protocol,
        form: summary.form,
        has_traces: summary.traceLengths.some((length) => length > 0),
        last_is_oom: lastIsOom,
        dump_trigger: trigger?.trigger ?? null,
        dump_trigger_origin: trigger?.origin ?? null,
        step: step?.step ?? null,
        step_origin: step === undefined ? null : `name: ${step.rule}`,
      },
    ]);
    group.insert(
      'snapshot_feature',
      summary.features.map((feature) => ({ snapshot_id, feature })),
    );
    group.insert(
      'snapshot_setting',
      [...summary.settings].map(([key, value]) => ({ snapshot_id, key, value })),
    );
    const pools = Array.from({ length: this.dictionary.poolCount }, (_, pool) => this.dictionary.pool(pool));
    group.insert(
      'snapshot_pool',
      pools.map(([a, b], pool) => ({ snapshot_id, pool, pool_id_a: a, pool_id_b: b })),
    );
    group.insert(
      'derived_history',
      derivation.lives.map((lives) => historyRow(snapshot_id, lives)),
    );
    for (const { device, labels } of derivation.lives) {
      if (labels === null) continue;
      group.insert('label', labelRows(labels, { snapshot_id, device }));
      group.insert('labelled_device', [
        { snapshot_id, device, rules: RULES_VERSION, figures: figuresStamp(identity.figures) },
      ]);
    }
    group.insert(
      'trace_step',
      derivation.lives.flatMap((lives) => stepRows(snapshot_id, lives)),
    );
    group.insert('snapshot_device', this.deviceRows(traces, sums, broken));
    group.insert(
      'snapshot_action',
      traces.flatMap((trace) =>
        [...trace.actions].map(([action, count]) => ({ snapshot_id, device: trace.device, action, count })),
      ),
    );
    group.insert(
      'trace_oom',
      this.ooms.map((row) => ({ snapshot_id, ...row })),
    );
    group.insert(
      'event_extra',
      this.extras.map((row) => ({ snapshot_id, ...row })),
    );
    if (this.ooms.length > 0) group.atEnd(() => deriveOoms(group.store, snapshot_id));
    return derivedNotes;
  }

  private deviceRows(traces: readonly DeviceTrace[], sumsOf: ReadonlyMap<number, DeviceSums>, broken: boolean) {
    const traceOf = new Map(traces.map((trace) => [trace.device, trace]));
    const devices = [...new Set([...sumsOf.keys(), ...traceOf.keys()])].sort((a, b) => a - b);
    return devices.map((device) => {
      const { actions: _, ...trace } = traceOf.get(device) ?? { actions: null };
      const sums = sumsOf.get(device) ?? { segments: 0, blocks: 0, ...NO_BYTES };
      return { snapshot_id: this.identity.snapshotId, device, ...sums, ...trace, invariants_hold: !broken };
    });
  }
}

function traceNotes(
  traces: readonly DeviceTrace[],
  sums: ReadonlyMap<number, DeviceSums>,
  summary: SnapshotSummary,
): Note[] {
  const notes: Note[] = [];
  for (const trace of traces) {
    const { device } = trace;
    const startReserved = (sums.get(device)?.reservedBytes ?? 0) - trace.reservedDeltaBytes;
    if (startReserved < 0) {
      const text = `segment events grow by ${trace.reservedDeltaBytes} bytes, more than the ${sums.get(device)?.reservedBytes ?? 0} reserved at the end`;
      notes.push({ kind: 'invariant_reserved', severity: 'warning', text, device });
    }
    // One completion alone is what a ring of one entry (torch 1.13 and 2.0) leaves; its request was overwritten, not
    // skipped.
    if (!trace.actions.has('free_requested') && (trace.actions.get('free_completed') ?? 0) > 1) {
      const text = 'no free_requested entry: recorded with skip_actions, so pending frees are not known';
      notes.push({ kind: 'actions_skipped', severity: 'info', text, device });
    }
    if (isOverwritten(summary.settings, device)) {
      notes.push({
        kind: 'ring_truncated',
        severity: 'warning',
        text: 'the ring of trace entries overflowed: its oldest entries are lost',
        device,
      });
    } else if (trace.events === 1 || (ROUND_RING.test(String(trace.events)) && startReserved > 0)) {
      const text = `exactly ${trace.events} ${trace.events === 1 ? 'entry' : 'entries'} and memory before the first: the ring was probably full, and its oldest entries are lost`;
      notes.push({ kind: 'ring_probably_truncated', severity: 'info', text, device });
    }
  }
  return notes;
}

/** `trace_alloc_overflowed` of torch 2.13+: a scalar, or per device as a list or a dict. */
export function isOverwritten(settings: ReadonlyMap<string, string>, device: number): boolean {
  for (const key of ['trace_alloc_overflowed', `trace_alloc_overflowed.${device}`]) {
    const value = settings.get(key);
    if (value === undefined) continue;
    if (/^true$/i.test(value) || value === '1') return true;
    if (value.startsWith('[')) {
      const list = parseList(value);
      if (list[device] === true || list[device] === 1) return true;
    }
  }
  return false;
}

/** The list that `text` is; empty if it only looks like one (a setting may be any string). */
function parseList(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
