import { deriveTemplate, type LearnedLine, makeTemplate } from './make-template.js';
import type { LinePrefix } from './strip-prefix.js';
import type { LineRecord, TemplateParts } from './template-parts.js';

const LF = 10;
const BLANK = 32;
const ZERO = 48;
const NINE = 57;

/** Numbers of a line: runs of digits. */
const MOST_RUNS = 80;
/** Digits of one of them, and blanks before it. */
const MOST_LENGTH = 255;
/** Integers above are not exact, powers of ten above 10^22 neither. */
const MOST_EXACT = Number.MAX_SAFE_INTEGER;
const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const MOST_DIGITS = POWERS.length - 1;
const MOST_WRITERS = 16_384;

/** The numbers of the line walked last. */
class Walked {
  readonly values = new Float64Array(MOST_RUNS);
  /** Where each run begins. */
  readonly starts = new Int32Array(MOST_RUNS);
  /** Blanks and digits of each run. */
  readonly lengths = new Uint8Array(MOST_RUNS * 2);
  hash = 0;
  /** Where the line feed is. */
  end = 0;
}

/** What shapes that follow from one another share: the rows that their lines become. */
class Model {
  readonly parts: TemplateParts;
  private readonly numbers: Float64Array;
  private readonly writers = new Map<number, LinePrefix>();
  private timeText = '';
  /** Whose constants the records have. */
  private constants: readonly number[];

  constructor(parts: TemplateParts) {
    this.parts = parts;
    this.numbers = new Float64Array(parts.numbers.length);
    this.constants = parts.constantValues;
  }

  /** The prefix of the line walked. `strip` is asked once for each writer. */
  prefix({ values, lengths }: Walked, bytes: Buffer, start: number, strip: () => LinePrefix): LinePrefix {
    const { writerRuns, time } = this.parts;
    let writer = 0;
    for (const run of writerRuns) writer = writer * POWERS[lengths[run * 2 + 1]!]! + values[run]!;
    let known = this.writers.get(writer);
    if (known === undefined) {
      known = strip();
      if (this.writers.size >= MOST_WRITERS) this.writers.clear();
      this.writers.set(writer, known);
    }
    if (time === null) return known;
    const text = this.timeAt(bytes, start + time.start, time.end - time.start);
    return known.time === text ? known : { ...known, time: text };
  }

  /** All ranks print in the same second: mostly the text of the line before. */
  private timeAt(bytes: Buffer, start: number, length: number): string {
    const known = this.timeText;
    let at = 0;
    while (at < known.length && known.charCodeAt(at) === bytes[start + at]) at += 1;
    if (at < length) this.timeText = bytes.toString('latin1', start, start + length);
    return this.timeText;
  }

  /** Makes the records those of the line walked. */
  take({ values, lengths, starts }: Walked, bytes: Buffer, start: number, constants: readonly number[]): void {
    const { parts, numbers } = this;
    for (let slot = 0; slot < numbers.length; slot += 1) {
      const number = parts.numbers[slot]!;
      let { run } = number;
      let mantissa = values[run]!;
      let power = 0;
      if (number.hasFraction) {
        run += 1;
        const decimals = lengths[run * 2 + 1]!;
        mantissa = mantissa * POWERS[decimals]! + values[run]!;
        power = -decimals;
      }
      if (number.exponent !== 0) {
        run += 1;
        power += number.exponent * values[run]!;
      }
      // Both operands are exact, so that the result is what `Number` makes of the text.
      if (mantissa > MOST_EXACT || power < -MOST_DIGITS || power > MOST_DIGITS)
        numbers[slot] = Number(bytes.toString('latin1', starts[number.run], starts[run]! + lengths[run * 2 + 1]!));
      else numbers[slot] = power < 0 ? mantissa / POWERS[-power]! : mantissa * POWERS[power]!;
    }
    for (const { target, set, slot, make, start: from, end } of parts.setters)
      if (slot >= 0) set(target, make(numbers[slot]!));
      else target.timeText = bytes.toString('latin1', start + from, start + end);
    if (constants === this.constants) return;
    this.constants = constants;
    for (let at = 0; at < constants.length; at += 1)
      parts.constants[at]!.set(parts.constants[at]!.target, constants[at]!);
  }
}

/** Without the blanks at its end. */
function withoutBlanks(text: string): string {
  let end = text.length;
  while (text[end - 1] === ' ') end -= 1;
  return text.slice(0, end);
}

export class LineTemplate {
  /** Another one of the same shape, whose texts have other digits, or of a shape with the same hash. */
  sibling: LineTemplate | null = null;
  readonly model: Model;
  private readonly constants: readonly number[];
  private readonly lengths: Uint8Array;
  private readonly fixedValues: readonly number[];

  constructor(model: Model, constants: readonly number[], { lengths, values }: Walked, runs: number) {
    this.model = model;
    this.constants = constants;
    this.lengths = lengths.slice(0, runs * 2);
    this.fixedValues = model.parts.fixed.map((run) => values[run]!);
  }

  /** Whether the line walked, of the same form, has this shape. */
  matches({ lengths, values }: Walked): boolean {
    const expected = this.lengths;
    for (let at = 0; at < expected.length; at += 1) if (expected[at] !== lengths[at]) return false;
    const { fixed } = this.model.parts;
    for (let at = 0; at < fixed.length; at += 1) if (values[fixed[at]!] !== this.fixedValues[at]) return false;
    return true;
  }

  /** The records of the line walked, until the next call. */
  take(walked: Walked, bytes: Buffer, start: number): readonly LineRecord[] {
    this.model.take(walked, bytes, start, this.constants);
    return this.model.parts.records;
  }
}

class LineForm {
  /** Another one with the same hash. */
  sibling: LineForm | null = null;
  /** The forms of the lines that were read after lines of this form. */
  readonly next: [LineForm | null, LineForm | null] = [null, null];
  readonly runs: number;
  /** The bytes before, between and behind the runs, and where each piece ends. */
  private readonly pieces: Uint8Array;
  private readonly ends: Int32Array;
  private readonly shapes = new Map<number, LineTemplate>();
  private last: LineTemplate | null = null;
  /** What other shapes are derived from. */
  private readonly models: Model[] = [];
  private failures = 0;

  constructor(bytes: Buffer) {
    // One character for each byte.
    const texts = bytes.toString('latin1').split(/\d+/);
    const pieces = texts.map((text, i) => (i + 1 < texts.length ? withoutBlanks(text) : text));
    this.runs = pieces.length - 1;
    this.pieces = Buffer.from(pieces.join(''), 'latin1');
    let end = 0;
    this.ends = Int32Array.from(pieces, ({ length }) => (end += length));
  }

  /** Whether the line at `start` has this form and ends before `limit`; then `walked` is filled. */
  walk(bytes: Uint8Array, start: number, limit: number, walked: Walked): boolean {
    const { pieces, ends, runs } = this;
    const { values, lengths, starts } = walked;
    let at = start;
    let piece = 0;
    let hash = 0;
    for (let run = 0; ; run += 1) {
      const pieceEnd = ends[run]!;
      while (piece < pieceEnd) {
        if (bytes[at] !== pieces[piece]) return false;
        at += 1;
        piece += 1;
      }
      if (run === runs) break;
      const blanks = at;
      while (bytes[at] === BLANK) at += 1;
      const digits = at;
      let value = 0;
      for (let digit = bytes[at]! - ZERO; digit >= 0 && digit <= 9; digit = bytes[at]! - ZERO) {
        value = value * 10 + digit;
        at += 1;
      }
      if (at === digits || at - blanks > MOST_LENGTH) return false;
      values[run] = value;
      starts[run] = digits;
      lengths[run * 2] = digits - blanks;
      lengths[run * 2 + 1] = at - digits;
      hash = Math.imul(hash ^ ((digits - blanks) << 5) ^ (at - digits), 0x01000193);
    }
    if (at >= limit || bytes[at] !== LF) return false;
    walked.hash = hash;
    walked.end = at;
    return true;
  }

  /** The template of the line walked. */
  template(walked: Walked): LineTemplate | null {
    if (this.last?.matches(walked) === true) return this.last;
    for (let known = this.shapes.get(walked.hash) ?? null; known !== null; known = known.sibling)
      if (known.matches(walked)) {
        this.last = known;
        return known;
      }
    return null;
  }

  /** Whether other shapes of this form are known, and whether all that were tried could not be learned. */
  get isKnown(): boolean {
    return this.models.length > 0;
  }
  get isHopeless(): boolean {
    return this.failures >= MOST_FAILURES && !this.isKnown;
  }

  /** Makes a template of the line walked; false if that is not possible. */
  learn(line: LearnedLine, walked: Walked): boolean {
    let template: LineTemplate | null = null;
    for (const model of this.models) {
      const constants = deriveTemplate(line, model.parts);
      if (constants === null) continue;
      template = new LineTemplate(model, constants, walked, this.runs);
      break;
    }
    if (template === null) {
      const parts = makeTemplate(line);
      if (parts === null) {
        this.failures += 1;
        return false;
      }
      const model = new Model(parts);
      if (this.models.length < MOST_MODELS) this.models.push(model);
      template = new LineTemplate(model, parts.constantValues, walked, this.runs);
    }
    template.sibling = this.shapes.get(walked.hash) ?? null;
    this.shapes.set(walked.hash, template);
    this.last = template;
    return true;
  }

  /** Templates whose shapes have this hash. */
  siblings(hash: number): number {
    let count = 0;
    for (let known = this.shapes.get(hash) ?? null; known !== null; known = known.sibling) count += 1;
    return count;
  }
}

/** Lines longer than this are read as before. */
const MOST_BYTES = 8192;
/** A shape is learned when it is seen this often; what cannot be learned is not tried again. */
const LEAST_SEEN = 3;
const DONE = 255;
const SLOTS = 65_536;
const MOST_TEMPLATES = 65_536;
const MOST_FORMS = 1024;
/** Shapes of one form that are learned without another one, and that are tried in vain. */
const MOST_MODELS = 8;
const MOST_FAILURES = 2;
/** Templates of one shape. */
const MOST_SIBLINGS = 8;
/** While fewer lines were read by each template, no more are learned. */
const LEAST_USES = 4;
const FIRST_TEMPLATES = 512;

/** Bytes as they are in the hash of a form: those of runs are left out. */
const IN_FORM = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === BLANK || (byte >= ZERO && byte <= NINE) ? 0 : byte,
);

/** The templates of one log. */
export class LineTemplates {
  private readonly walked = new Walked();
  private form: LineForm | null = null;
  private readonly forms = new Map<number, LineForm>();
  private formCount = 0;
  private readonly seen = new Uint8Array(SLOTS);
  private made = 0;
  private uses = 0;

  /** Where the line found last ends: its line feed. */
  get end(): number {
    return this.walked.end;
  }

  /** The template of the line that begins at `start`, of which all must be before `limit`. */
  find(bytes: Buffer, start: number, limit: number): LineTemplate | null {
    const form = this.formOf(bytes, start, limit);
    const template = form?.template(this.walked) ?? null;
    if (template !== null) this.uses += 1;
    return template;
  }

  private formOf(bytes: Buffer, start: number, limit: number): LineForm | null {
    const { form: before, walked } = this;
    if (before !== null) {
      for (const guess of before.next) {
        if (guess === null || !guess.walk(bytes, start, limit, walked)) continue;
        this.form = guess;
        return guess;
      }
    }
    const hash = formHash(bytes, start, Math.min(limit, start + MOST_BYTES));
    for (let known = this.forms.get(hash) ?? null; known !== null; known = known.sibling)
      if (known.walk(bytes, start, limit, walked)) {
        if (before !== null) before.next[before.next[0] === null ? 0 : 1] = known;
        this.form = known;
        return known;
      }
    return null;
  }

  /** The prefix of the line found last, and its records until the next call. */
  prefix(template: LineTemplate, bytes: Buffer, start: number, strip: () => LinePrefix): LinePrefix {
    return template.model.prefix(this.walked, bytes, start, strip);
  }
  take(template: LineTemplate, bytes: Buffer, start: number): readonly LineRecord[] {
    return template.take(this.walked, bytes, start);
  }

  /**
   * A line was read without a template, `[start, end)` without its line feed. Makes one if lines of its shape are
   * frequent.
   */
  learn(bytes: Buffer, start: number, end: number, line: () => LearnedLine | null): void {
    if (end - start >= MOST_BYTES || bytes[end] !== LF) return;
    const { seen, walked } = this;
    const hash = formHash(bytes, start, end);
    let form = this.forms.get(hash) ?? null;
    while (form !== null && !form.walk(bytes, start, end + 1, walked)) form = form.sibling;
    if (form === null) {
      if (this.formCount >= MOST_FORMS) return;
      if (this.isFirst(hash)) return;
      form = new LineForm(bytes.subarray(start, end));
      if (form.runs > MOST_RUNS || !form.walk(bytes, start, end + 1, walked)) return;
      form.sibling = this.forms.get(hash) ?? null;
      this.forms.set(hash, form);
      this.formCount += 1;
    }
    const shape = hash ^ walked.hash;
    if (form.isHopeless || this.isFirst(shape, form.isKnown ? 1 : LEAST_SEEN)) return;
    const isWorthIt = this.made < FIRST_TEMPLATES || this.uses >= this.made * LEAST_USES;
    if (!isWorthIt || this.made >= MOST_TEMPLATES) return;
    this.made += 1;
    const learned = form.siblings(walked.hash) < MOST_SIBLINGS ? line() : null;
    if (learned === null || !form.learn(learned, walked)) seen[slotOf(shape)] = DONE;
  }

  /** Counts lines of a hash: whether it is too early, or in vain, to learn it. */
  private isFirst(hash: number, least = LEAST_SEEN): boolean {
    const slot = slotOf(hash);
    const count = this.seen[slot]!;
    if (count < least) this.seen[slot] = count + 1;
    return count < least || count === DONE;
  }
}

const slotOf = (hash: number): number => (hash ^ (hash >>> 16)) & (SLOTS - 1);

/** Of the bytes up to the line feed that are neither digits nor blanks. */
function formHash(bytes: Uint8Array, start: number, stop: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < stop; at += 1) {
    const byte = IN_FORM[bytes[at]!]!;
    if (byte === LF) break;
    if (byte !== 0) hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash;
}
