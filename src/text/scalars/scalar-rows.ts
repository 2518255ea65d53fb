/**
 * Scalars of experiment trackers (TensorBoard, W&B, exports of both) as rows. Trackers write one figure at a time; what
 * belongs to one iteration is gathered into one row, memory figures become memory rows, and what the dictionary does
 * not know is kept as a value under its own name.
 */
import type { IterationFinding, KeptFinding, LogPlace, MemoryFinding } from '../../model/log-rows.js';
import { findScalarName, type KnownScalar } from './find-scalar-name.js';
import { type IterationField, type MemoryUnit, TORCH_STATS, UNIT_BYTES } from './scalar-names.js';

export interface Scalar {
  readonly tag: string;
  /** May be NaN or infinite: a loss is, at times. */
  readonly value: number;
  /** Half of the last digit that was written, in units of the value; 0 or absent where exact. */
  readonly precision?: number | undefined;
  readonly step: number | null;
  /** Microseconds since 1970. */
  readonly timeUs: number | null;
  /** 1-based record or line. Scalars of one record were logged together. */
  readonly ordinal: number;
  readonly offset: number;
}

export interface ScalarWriter {
  /** Id of the format that read them, e.g. `tensorboard.scalar`. */
  readonly format: string;
  readonly rank: number | null;
  readonly rankOrigin: string | null;
  readonly host: string | null;
  /** Step of the first iteration, where the file defines it independently of the names. */
  readonly countsFrom?: 0 | 1 | undefined;
}

interface Group {
  readonly tags: Set<string>;
  readonly held: Scalar[];
  /** What the name of each of them means. */
  readonly known: (KnownScalar | undefined)[];
}

/** Steps waiting for more of their scalars. Writers of several threads and late validation come a few steps behind. */
export const MOST_OPEN_STEPS = 64;
/** Scalars of one step before it is written as it is. */
const MOST_HELD = 4096;
/** Names whose meaning is remembered. */
const MOST_NAMES = 65_536;
/** 2^53: beyond it bytes are not exact, and no memory is that large. */
const MOST_BYTES = Number.MAX_SAFE_INTEGER;
const MOST_TAG_CHARS = 512;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export class ScalarRows {
  private readonly emit: (finding: KeptFinding, place: LogPlace) => void;
  private readonly writer: ScalarWriter;
  /** By step, oldest first. */
  private readonly groups = new Map<number | null, Group>();
  /** Groups that were written, for the next steps: there are millions. */
  private readonly spare: Group[] = [];
  private readonly names = new Map<string, KnownScalar | null>();
  /** Producers with a unique name in the file. */
  private readonly seen = new Set<string>();
  /** How the file counts steps, as far as known by now. */
  private countsFrom: 0 | 1 | undefined;

  /** `emit` is given rows in the order of their steps, as far as {@link MOST_OPEN_STEPS} reach. */
  constructor(emit: (finding: KeptFinding, place: LogPlace) => void, writer: ScalarWriter) {
    this.emit = emit;
    this.writer = writer;
    this.countsFrom = writer.countsFrom;
  }

  add(given: Scalar): void {
    const scalar = given.tag.length > MOST_TAG_CHARS ? { ...given, tag: excerpt(given.tag) } : given;
    const known = this.lookUp(scalar.tag);
    if (known !== undefined && !known.isShared) {
      this.seen.add(known.producer.producer);
      if (this.writer.countsFrom === undefined && known.producer.countsFrom !== undefined) {
        this.countsFrom = known.producer.countsFrom;
      }
    }
    if (known?.meaning.as === 'not by iteration') {
      this.emit(this.rowOf(scalar, known, undefined), this.place(scalar));
      return;
    }
    const key = scalar.step;
    let group = this.groups.get(key);
    // The same name twice is another moment: a step that was repeated, or a figure without steps.
    if (group !== undefined && (group.tags.has(scalar.tag) || group.held.length >= MOST_HELD)) {
      this.flushTo(key, group);
      group = undefined;
    }
    if (group === undefined) {
      group = this.spare.pop() ?? { tags: new Set(), held: [], known: [] };
      this.groups.set(key, group);
      if (this.groups.size > MOST_OPEN_STEPS) this.flushOldest();
    }
    group.tags.add(scalar.tag);
    group.held.push(scalar);
    group.known.push(known);
  }

  /** Writes what is still waiting: after the last scalar. */
  end(): void {
    for (const group of this.groups.values()) this.flush(group);
    this.groups.clear();
  }

  private lookUp(tag: string): KnownScalar | undefined {
    let known = this.names.get(tag);
    if (known === undefined) {
      known = findScalarName(tag) ?? null;
      if (this.names.size >= MOST_NAMES) this.names.clear();
      this.names.set(tag, known);
    }
    return known ?? undefined;
  }

  /** Includes older steps: rows leave in the order of steps. A scalar without a step is a row of its own. */
  private flushTo(key: number | null, group: Group): void {
    if (key === null) {
      this.groups.delete(key);
      this.flush(group);
      return;
    }
    while (this.groups.has(key)) this.flushOldest();
  }

  private flushOldest(): void {
    for (const [key, group] of this.groups) {
      this.groups.delete(key);
      this.flush(group);
      return;
    }
  }

  private flush(group: Group): void {
    const { held } = group;
    const steps = loggedSteps(group);
    const rows = new Map<number, { finding: Mutable<IterationFinding>; others: Other[]; place: LogPlace }>();
    for (let index = 0; index < held.length; index += 1) {
      const scalar = held[index]!;
      const known = this.usable(group.known[index]);
      const iteration = this.iterationOf(scalar, steps, known);
      const meaning = known?.meaning;
      if (meaning?.as === 'step') continue;
      if ((meaning?.as === 'field' || meaning?.as === 'other') && iteration !== undefined && iteration >= 0) {
        const value = meaning.as === 'field' ? fieldValue(meaning.field, scalar.value * (meaning.factor ?? 1)) : 0;
        if (value !== undefined) {
          let row = rows.get(iteration);
          if (row === undefined) {
            const finding: Mutable<IterationFinding> = { row: 'iteration', iteration, target: null };
            row = { finding, others: [], place: this.place(scalar) };
            rows.set(iteration, row);
          }
          if (meaning.as === 'other') {
            row.others.push({ name: meaning.name, value: scalar.value, text: String(scalar.value) });
            continue;
          }
          // Two names of one field, as `loss` and `train/loss`: the first is used, the other is kept under its name.
          if (row.finding[meaning.field] === undefined) {
            row.finding[meaning.field] = value;
            continue;
          }
        }
      }
      this.emit(this.rowOf(scalar, known, iteration), this.place(scalar));
    }
    for (const { finding, others, place } of rows.values()) {
      this.emit(others.length === 0 ? finding : { ...finding, others }, place);
    }
    group.tags.clear();
    held.length = 0;
    group.known.length = 0;
    this.spare.push(group);
  }

  /** A name shared by several producers counts only together with another name of its producer. */
  private usable(known: KnownScalar | undefined): KnownScalar | undefined {
    return known?.isShared === true && !this.seen.has(known.producer.producer) ? undefined : known;
  }

  /** 1-based; undefined where unknown. */
  private iterationOf(
    scalar: Scalar,
    steps: ReadonlyMap<number, LoggedStep>,
    known: KnownScalar | undefined,
  ): number | undefined {
    const tag = steps.get(scalar.ordinal);
    const step = tag === undefined ? scalar.step : tag.value;
    if (step === null || !Number.isSafeInteger(step)) return undefined;
    const countsFrom =
      (tag === undefined ? this.writer.countsFrom : tag.countsFrom) ?? known?.countsFrom ?? this.countsFrom ?? 1;
    return step + 1 - countsFrom;
  }

  private rowOf(scalar: Scalar, known: KnownScalar | undefined, iteration: number | undefined): KeptFinding {
    const at = iteration === undefined ? {} : { iteration };
    const memory = known === undefined ? undefined : memoryRow(scalar, known);
    if (memory !== undefined) return { ...memory, ...at };
    const meaning = known?.meaning;
    if (meaning?.as === 'value') {
      const name = meaning.name.replace('$1', () => known?.groups[0] ?? '');
      const unit = meaning.unit === 'none' ? null : meaning.unit;
      return { row: 'value', name, value: scalar.value * (meaning.factor ?? 1), unit, ...at };
    }
    return {
      row: 'value',
      name: `scalar.${scalar.tag}`,
      value: scalar.value,
      unit: null,
      ...at,
    };
  }

  private place({ ordinal, offset, timeUs }: Scalar): LogPlace {
    const { format, rank, rankOrigin, host } = this.writer;
    return { line: ordinal, offset, attempt: 1, rank, rankOrigin, host, device: null, timeUs, format };
  }
}

interface Other {
  readonly name: string;
  readonly value: number;
  readonly text: string;
}

/** A copy: a piece of a text keeps the whole of it alive. */
function excerpt(tag: string): string {
  return Buffer.from(tag.slice(0, MOST_TAG_CHARS)).toString();
}

interface LoggedStep {
  readonly value: number;
  readonly countsFrom: 0 | 1 | undefined;
}

const NO_STEPS: ReadonlyMap<number, LoggedStep> = new Map();

/**
 * By record: the step of everything logged in it. A name with a defined start of counting takes precedence over
 * `global_step`, which many programs write.
 */
function loggedSteps({ held, known }: Group): ReadonlyMap<number, LoggedStep> {
  let steps: Map<number, LoggedStep> | undefined;
  for (let index = 0; index < held.length; index += 1) {
    const name = known[index];
    if (name?.meaning.as !== 'step') continue;
    const { value, ordinal } = held[index]!;
    if (!Number.isSafeInteger(value)) continue;
    steps ??= new Map();
    if (name.countsFrom !== undefined || !steps.has(ordinal))
      steps.set(ordinal, { value, countsFrom: name.countsFrom });
  }
  return steps ?? NO_STEPS;
}

const INTEGER_FIELDS: ReadonlySet<IterationField> = new Set<IterationField>([
  'consumedSamples',
  'globalBatchSize',
  'skippedIterations',
  'nanIterations',
]);

/** Undefined for an impossible value: a count of samples that is not a whole number. */
function fieldValue(field: IterationField, value: number): number | undefined {
  if (!INTEGER_FIELDS.has(field)) return value;
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Undefined for other figures; −1 is what some write for "not known". */
function memoryRow(scalar: Scalar, { meaning, groups }: KnownScalar): MemoryFinding | undefined {
  const { value } = scalar;
  if (!Number.isFinite(value) || value < 0) return undefined;
  if (meaning.as === 'torch-stat') {
    const stat = TORCH_STATS.get(groups[1] ?? '');
    if (stat === undefined) return undefined;
    const { metric, isCount } = stat;
    return figure(scalar, { metric, unit: isCount ? 'count' : 'bytes', moment: groups[0] });
  }
  return meaning.as === 'memory' ? figure(scalar, meaning) : undefined;
}

interface MemoryMeaning {
  readonly metric: string;
  readonly unit: MemoryUnit;
  readonly orUnit?: MemoryUnit | undefined;
  readonly digits?: number | undefined;
  readonly places?: number | undefined;
  readonly moment?: string | undefined;
}

function figure({ value, precision = 0 }: Scalar, meaning: MemoryMeaning): MemoryFinding | undefined {
  const { metric, unit, orUnit = unit, moment } = meaning;
  const [unitBytes, orUnitBytes] = [UNIT_BYTES[unit], UNIT_BYTES[orUnit]];
  const base = { row: 'memory', metric, value, unit, ...(moment === undefined ? {} : { moment }) } as const;
  if (unitBytes === null || orUnitBytes === null) return { ...base, bytes: null, precisionBytes: 0 };
  const bytes = Math.round(value * unitBytes);
  if (bytes > MOST_BYTES) return undefined;
  const half = Math.max(precision, roundedTo(value, meaning));
  return { ...base, bytes, precisionBytes: half * unitBytes + Math.abs(value * (unitBytes - orUnitBytes)) };
}

/** Half of the last digit that the producer leaves. */
function roundedTo(value: number, { digits, places }: MemoryMeaning): number {
  if (places !== undefined) return 0.5 * 10 ** -places;
  if (digits === undefined || value === 0) return 0;
  return 0.5 * 10 ** (Math.floor(Math.log10(value)) + 1 - digits);
}
