import { makeTemplate } from './make-template.js';
import type { LinePrefix } from './strip-prefix.js';
import type { LineRecord, TemplateParts } from './template-parts.js';
import type { LearnedLine } from './template-reading.js';

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
const PRIME = 0x01000193;

/** The numbers of the line walked last. */
class Walked {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly values = new Float64Array(MOST_RUNS);
  /** Where each run begins. */
  readonly starts = new Int32Array(MOST_RUNS);
  /** Blanks and digits of each run. */
  readonly lengths = new Uint8Array(MOST_RUNS * 2);
  /** Where the line feed is. */
  end = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** A writer, and the digits in its prefixes: values and lengths. */
interface Writer {
  readonly prefix: LinePrefix;
  readonly digits: readonly number[];
}

/** Reads lines of one form whose runs have some widths. */
export class LineTemplate {
  private readonly parts: TemplateParts;
  private readonly numbers: Float64Array;
  private readonly fixedValues: readonly number[];
  /** By hash; of writers with the same one only the last. */
  private readonly writers = new Map<number, Writer>();
  private timeText = '';

  constructor(parts: TemplateParts, { values }: Walked) {
    this.parts = parts;
    this.numbers = new Float64Array(parts.numbers.length);
    this.fixedValues = parts.fixed.map((run) => values[run]!);
  }

  /** Whether the line walked, of the same form, is one of its lines. */
  matches({ lengths, values }: Walked): boolean {
    const { least, most, fixed } = this.parts;
    for (let at = 0; at < least.length; at += 1)
      if (lengths[at]! < least[at]! || lengths[at]! > most[at]!) return false;
    for (let at = 0; at < fixed.length; at += 1) if (values[fixed[at]!] !== this.fixedValues[at]) return false;
    return true;
  }

  /** The prefix of the line walked. `strip` is asked once for each writer. */
  prefix({ bytes, values, lengths, starts }: Walked, strip: () => LinePrefix): LinePrefix {
    const { writerRuns, time } = this.parts;
    let hash = 0;
    for (const run of writerRuns) hash = Math.imul(hash ^ values[run]!, PRIME) ^ lengths[run * 2 + 1]!;
    let writer = this.writers.get(hash);
    let isKnown = writer !== undefined;
    for (let at = 0; isKnown && at < writerRuns.length; at += 1) {
      const run = writerRuns[at]!;
      isKnown = writer!.digits[at * 2] === values[run] && writer!.digits[at * 2 + 1] === lengths[run * 2 + 1];
    }
    if (writer === undefined || !isKnown) {
      writer = { prefix: strip(), digits: writerRuns.flatMap((run) => [values[run]!, lengths[run * 2 + 1]!]) };
      if (this.writers.size >= MOST_WRITERS) this.writers.clear();
      this.writers.set(hash, writer);
    }
    const { prefix } = writer;
    if (time === null) return prefix;
    const text = this.timeAt(bytes, starts[time.run]! - time.before, time.length);
    return prefix.time === text ? prefix : { ...prefix, time: text };
  }

  /** All ranks print in the same second: mostly the text of the line before. */
  private timeAt(bytes: Buffer, start: number, length: number): string {
    const known = this.timeText;
    let at = 0;
    while (at < known.length && known.charCodeAt(at) === bytes[start + at]) at += 1;
    if (at < length) this.timeText = bytes.toString('latin1', start, start + length);
    return this.timeText;
  }

  /** The records of the line walked, until the next call. */
  take({ bytes, values, lengths, starts }: Walked): readonly LineRecord[] {
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
    for (const { target, set, slot, make } of parts.setters) set(target, make(numbers[slot]!));
    for (const { target, set, run, values: byWidth } of parts.widthSetters)
      set(target, byWidth[lengths[run * 2 + 1]!]!);
    for (const { target, run, before, length } of parts.texts) {
      const start = starts[run]! - before;
      target.timeText = bytes.toString('latin1', start, start + length);
    }
    return parts.records;
  }
}

/** Without the blanks at its end. */
function withoutBlanks(text: string): string {
  let end = text.length;
  while (text[end - 1] === ' ') end -= 1;
  return text.slice(0, end);
}

class LineForm {
  /** Another one with the same hash. */
  sibling: LineForm | null = null;
  /** The forms of the lines that were read after lines of this form. */
  readonly next: [LineForm | null, LineForm | null] = [null, null];
  readonly runs: number;
  /** The bytes before, between and behind the runs, and where each piece ends. */
  private readonly pieces: DataView;
  private readonly ends: Int32Array;
  /** The one used last is the first. */
  private readonly templates: LineTemplate[] = [];
  private failures = 0;
  /** Lines without a template since one was made. */
  private missed = 0;

  constructor(bytes: Buffer) {
    // One character for each byte.
    const texts = bytes.toString('latin1').split(/\d+/);
    const pieces = texts.map((text, i) => (i + 1 < texts.length ? withoutBlanks(text) : text));
    this.runs = pieces.length - 1;
    this.pieces = viewOf(Buffer.from(pieces.join(''), 'latin1'));
    let end = 0;
    this.ends = Int32Array.from(pieces, ({ length }) => (end += length));
  }

  /** Whether the line at `start` has this form and ends before `limit`; then `walked` is filled. */
  walk(start: number, limit: number, walked: Walked): boolean {
    const { pieces, ends, runs } = this;
    const { bytes, values, lengths, starts, view } = walked;
    let at = start;
    let piece = 0;
    for (let run = 0; ; run += 1) {
      const pieceEnd = ends[run]!;
      if (at + pieceEnd - piece > limit) return false;
      for (; piece + 4 <= pieceEnd; at += 4, piece += 4) if (view.getInt32(at) !== pieces.getInt32(piece)) return false;
      for (; piece < pieceEnd; at += 1, piece += 1) if (view.getUint8(at) !== pieces.getUint8(piece)) return false;
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
    }
    if (at >= limit || bytes[at] !== LF) return false;
    walked.end = at;
    return true;
  }

  /** The template of the line walked. */
  template(walked: Walked): LineTemplate | null {
    const { templates } = this;
    for (let at = 0; at < templates.length; at += 1) {
      const known = templates[at]!;
      if (!known.matches(walked)) continue;
      if (at > 0) [templates[0], templates[at]] = [known, templates[0]!];
      return known;
    }
    return null;
  }

  /** Whether it is time to learn a line; asked for each that no template reads. */
  get isDue(): boolean {
    this.missed += 1;
    return this.missed >= LEAST_SEEN && this.failures < MOST_FAILURES && this.templates.length < MOST_OF_FORM;
  }

  /** Makes a template of the line walked. */
  learn(line: LearnedLine | null, walked: Walked): void {
    this.missed = 0;
    const parts = line === null ? null : makeTemplate(line);
    if (parts === null) this.failures += 1;
    else this.templates.unshift(new LineTemplate(parts, walked));
  }
}

/** Lines longer than this are read as before. */
const MOST_BYTES = 8192;
/**
 * A form is known when it is seen this often, and learned after so many lines: it takes as long as reading hundreds.
 */
const LEAST_FORM = 3;
const LEAST_SEEN = 48;
const SLOTS = 65_536;
const MOST_FORMS = 1024;
/** Templates of one form, and lines that are learned in vain. */
const MOST_OF_FORM = 16;
const MOST_FAILURES = 4;
/** While fewer lines were read by each template, no more are learned. */
const LEAST_USES = 512;
const FIRST_TEMPLATES = 16;

/** Bytes as they are in the hash of a form: those of runs are left out. */
const IN_FORM = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === BLANK || (byte >= ZERO && byte <= NINE) ? 0 : byte,
);

/** The templates of one log. */
export class LineTemplates {
  private readonly walked: Walked;
  private form: LineForm | null = null;
  private readonly forms = new Map<number, LineForm>();
  private formCount = 0;
  private readonly seen = new Uint8Array(SLOTS);
  private made = 0;
  private uses = 0;

  /** @param bytes where all lines are when they are read */
  constructor(bytes: Buffer) {
    this.walked = new Walked(bytes);
  }

  /** Where the line found last ends: its line feed. */
  get end(): number {
    return this.walked.end;
  }

  /** The template of the line that begins at `start`, of which all must be before `limit`. */
  find(start: number, limit: number): LineTemplate | null {
    const form = this.formOf(start, limit);
    const template = form?.template(this.walked) ?? null;
    if (template !== null) this.uses += 1;
    return template;
  }

  private formOf(start: number, limit: number): LineForm | null {
    const { form: before, walked } = this;
    if (before !== null) {
      for (const guess of before.next) {
        if (guess === null || !guess.walk(start, limit, walked)) continue;
        this.form = guess;
        return guess;
      }
    }
    const hash = formHash(walked.bytes, start, Math.min(limit, start + MOST_BYTES));
    for (let known = this.forms.get(hash) ?? null; known !== null; known = known.sibling)
      if (known.walk(start, limit, walked)) {
        if (before !== null) before.next[before.next[0] === null ? 0 : 1] = known;
        this.form = known;
        return known;
      }
    return null;
  }

  /** The prefix of the line found last, and its records until the next call. */
  prefix(template: LineTemplate, strip: () => LinePrefix): LinePrefix {
    return template.prefix(this.walked, strip);
  }
  take(template: LineTemplate): readonly LineRecord[] {
    return template.take(this.walked);
  }

  /**
   * A line was read without a template, `[start, end)` without its line feed. Makes one if lines of its form are
   * frequent.
   */
  learn(start: number, end: number, line: () => LearnedLine | null): void {
    const { seen, walked } = this;
    const { bytes } = walked;
    if (end - start >= MOST_BYTES || bytes[end] !== LF) return;
    const hash = formHash(bytes, start, end);
    let form = this.forms.get(hash) ?? null;
    while (form !== null && !form.walk(start, end + 1, walked)) form = form.sibling;
    if (form === null) {
      const slot = (hash ^ (hash >>> 16)) & (SLOTS - 1);
      seen[slot]! += 1;
      if (seen[slot]! < LEAST_FORM || this.formCount >= MOST_FORMS) return;
      seen[slot] = 0;
      form = new LineForm(bytes.subarray(start, end));
      if (form.runs > MOST_RUNS || !form.walk(start, end + 1, walked)) return;
      form.sibling = this.forms.get(hash) ?? null;
      this.forms.set(hash, form);
      this.formCount += 1;
    }
    if (!form.isDue || (this.made >= FIRST_TEMPLATES && this.uses < this.made * LEAST_USES)) return;
    this.made += 1;
    form.learn(line(), walked);
  }
}

/** Of the bytes up to the line feed that are neither digits nor blanks. */
function formHash(bytes: Uint8Array, start: number, stop: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < stop; at += 1) {
    const byte = IN_FORM[bytes[at]!]!;
    if (byte === LF) break;
    if (byte !== 0) hash = Math.imul(hash ^ byte, PRIME);
  }
  return hash;
}
