import type { IterationFinding } from '../../../../src/model/log-rows.js';
import type { BlockCode, BlockStep, Emit } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { figureFinding } from '../system/findings.js';
import { GIB, memoryFigure } from '../units.js';

const SEPARATOR = ' - ';
/** A value as `pprint` writes it: numpy 2 names the type. */
const VALUE =
  /^(?:np\.(?:float|int)\d{1,2}\()?([+-]?(?:\d{1,24}(?:\.\d{0,24})?(?:[eE][+-]?\d{1,4})?|nan|inf)|True|False)\)?$/;
const MOST_NAME = 200;
const MOST_FIELDS = 4096;
/**
 * The reader passes lines longer than 8 KiB in parts (`read-log.ts`); only a text of about that length can be a part.
 * The length of the prefix of the first part is unknown here, hence the margin.
 */
const CUT_CHARS = 7400;
/** Printed by training steps only, near the end of the line. */
const STEP_TIME = 'timing_s/step';
const TRAINING = /^(?:actor|critic|train|training|perf|timing_s|rollout|global_seqlen)\//;

interface Field {
  readonly name: string;
  readonly value: number | null;
  readonly text: string;
}

function fieldOf(piece: string): Field | null {
  const at = piece.lastIndexOf(':');
  if (at <= 0 || at > MOST_NAME) return null;
  const match = VALUE.exec(piece.slice(at + 1).trim());
  if (match === null) return null;
  const text = match[1]!;
  return { name: piece.slice(0, at).trim(), value: pythonNumber(text), text };
}

/** `actor/perf/max_memory_allocated_gb` → `max_allocated`; divided by 1024^3 in the workers. */
const MEMORY = /^(?:(\w{1,40})\/)?perf\/(max_memory_allocated|max_memory_reserved|cpu_memory_used)_gb$/;
const METRICS: Readonly<Record<string, string>> = {
  max_memory_allocated: 'max_allocated',
  max_memory_reserved: 'max_reserved',
  cpu_memory_used: 'host_used',
};

function emitFields(step: number, fields: readonly Field[], emit: Emit): void {
  const known = new Map<string, number>();
  for (const { name, value } of fields) if (value !== null) known.set(name, value);
  if (!fields.some(({ name }) => TRAINING.test(name))) {
    emit({ row: 'phase', phase: 'eval', label: 'verl: validation', iteration: step });
    for (const { name, value, text } of fields)
      if (value !== null) emit(figureFinding(`verl.${name}`, value, null, { iteration: step }));
      else emit({ row: 'value', name: `verl.${name}`, value: null, unit: null, text, iteration: step });
    return;
  }
  const used = new Set<string>();
  const take = (...names: readonly string[]): number | undefined => {
    const name = names.find((candidate) => known.has(candidate));
    if (name === undefined) return undefined;
    used.add(name);
    return known.get(name);
  };
  const stepS = take(STEP_TIME);
  const row: Omit<IterationFinding, 'others'> = {
    row: 'iteration',
    iteration: step,
    target: null,
    stepMs: stepS === undefined ? undefined : stepS * 1000,
    learningRate: take('actor/lr', 'train/lr'),
    loss: take('actor/loss', 'actor/pg_loss', 'train/loss'),
    gradNorm: take('actor/grad_norm', 'train/grad_norm'),
  };
  emit({ ...row, others: fields.filter(({ name }) => !used.has(name) && !MEMORY.test(name)) });
  emitMemory(step, fields, emit);
}

function emitMemory(step: number, fields: readonly Field[], emit: Emit): void {
  for (const { name, value, text } of fields) {
    const match = MEMORY.exec(name);
    if (match === null || value === null || !Number.isFinite(value)) continue;
    const [, role, key = ''] = match;
    const moment = role === undefined ? 'step' : `step (${role})`;
    emit(memoryFigure(METRICS[key]!, text, 'GB', GIB, { iteration: step, moment }));
  }
}

/**
 * The console line of a step, with a hundred metrics or more. If it is longer than what is read at once, the remainder
 * follows as lines of the same writer. One row is emitted per step, once the line is complete or its step time is read.
 */
export const VERL_STEP: BlockCode = {
  id: 'verl.step',
  begin(match, emit) {
    const step = Number(match[1]);
    const text = match.input.slice(match.index + match[0].length);
    const pieces = text.split(SEPARATOR);
    const mayBeCut = match.input.length >= CUT_CHARS;
    let carry = mayBeCut ? pieces.pop()! : '';
    let fields: Field[] = [];
    const add = (more: readonly string[]): void => {
      for (const piece of more) {
        if (fields.length >= MOST_FIELDS) return;
        const field = fieldOf(piece);
        if (field !== null) fields.push(field);
      }
    };
    /** Whether the step's row was emitted; later fields are emitted as figures of it. */
    let isEmitted = false;
    const emitRow = (): void => {
      if (fields.length === 0) return;
      if (isEmitted) {
        for (const { name, value, text: words } of fields)
          if (MEMORY.test(name)) emitMemory(step, [{ name, value, text: words }], emit);
          else emit({ row: 'value', name: `iteration.${name}`, value, unit: null, iteration: step });
      } else emitFields(step, fields, emit);
      isEmitted = true;
      fields = [];
    };
    add(pieces);
    let over = !mayBeCut;
    if (over || fields.some(({ name }) => name === STEP_TIME)) emitRow();
    return {
      line(next): BlockStep {
        if (over) return 'over';
        const parts = (carry + next).split(SEPARATOR);
        // A part either continues the field that was cut, or is another writer's next line.
        if (fieldOf(parts[0]!) === null) return 'over';
        const more = next.length >= CUT_CHARS;
        carry = more ? parts.pop()! : '';
        over = !more;
        add(parts);
        if (over || fields.some(({ name }) => name === STEP_TIME)) emitRow();
        return over ? 'last' : 'taken';
      },
      end() {
        if (over) return;
        add([carry]);
        emitRow();
      },
    };
  },
};
