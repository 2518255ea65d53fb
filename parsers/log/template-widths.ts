/** Which widths the runs of a line may have for it to be read in the same way: blanks and digits of each. */
import { maxOf } from '../../src/model/lists.js';
import { stripPrefix } from './strip-prefix.js';
import type { Leaf } from './template-parts.js';
import { lastRunOf } from './template-parts.js';
import { leavesOf, REFUSED, type ReadLine, readRecords, runsIn, setterFor, shapeOf } from './template-reading.js';

/** Digits and blanks that are tried beyond those of the line. */
const REACHES = [3, 1, 0];
const MOST_DIGITS = 15;
const MOST_BLANKS = 64;
const RANDOM_LINES = 12;

/** Two widths for each run: its blanks, its digits. */
type Widths = number[];

/** A number of the rows that follows from the digits that a run has. */
interface Table {
  readonly leaf: Leaf;
  readonly run: number;
  readonly values: number[];
}

export interface FoundWidths {
  readonly least: Widths;
  readonly most: Widths;
  readonly tables: readonly Table[];
}

/**
 * Null where not even lines of the same widths are read alike.
 *
 * @param mayDiffer whether other widths than those of the line are tried
 */
export function widthsOf(line: ReadLine, mayDiffer: boolean): FoundWidths | null {
  for (const reach of mayDiffer ? REACHES : [0]) {
    const search = new WidthSearch(line, reach);
    if (search.holds()) return { least: search.least, most: search.most, tables: [...search.tables.values()] };
  }
  return null;
}

function hasFormats({ formats, formatsOf }: ReadLine, text: string): boolean {
  const present = formatsOf(text);
  return present?.length === formats.length && present.every((format, at) => format === formats[at]);
}

class WidthSearch {
  readonly least: Widths;
  readonly most: Widths;
  /** By the index of the value. */
  readonly tables = new Map<number, Table>();
  private readonly line: ReadLine;
  private readonly own: Widths;
  private readonly setterAt: ReadonlyMap<number, ReadLine['setters'][number]>;
  private readonly textAt: ReadonlyMap<number, ReadLine['texts'][number]>;
  private random = 1;

  constructor(line: ReadLine, reach: number) {
    this.line = line;
    this.own = line.runs.flatMap(({ blanks, start, end }) => [blanks, end - start]);
    this.least = [...this.own];
    this.most = [...this.own];
    this.setterAt = new Map(line.setters.map((setter) => [setter.at, setter]));
    this.textAt = new Map(line.texts.map((text) => [text.at, text]));
    if (reach === 0) return;
    line.runs.forEach((run, at) => {
      if (line.fixed.has(run)) return;
      for (const place of [at * 2, at * 2 + 1]) {
        const width = this.own[place]!;
        // More than one are those of a padded number; without any it may be another one.
        if (place % 2 === 0 && width < 2) continue;
        const high = place % 2 === 0 ? MOST_BLANKS : MOST_DIGITS;
        while (this.most[place]! < Math.min(high, width + reach) && this.tryWidth(place, this.most[place]! + 1))
          this.most[place]! += 1;
        while (this.least[place]! > 1 && this.tryWidth(place, this.least[place]! - 1)) this.least[place]! -= 1;
      }
    });
    for (const [at, { run, values }] of this.tables)
      for (let width = this.least[run * 2 + 1]!; width <= this.most[run * 2 + 1]!; width += 1)
        values[width] ??= line.values[at] as number;
  }

  /** Whether the line with one other width is read in the same way. */
  private tryWidth(place: number, width: number): boolean {
    const { line } = this;
    const run = place >> 1;
    const widths = [...this.own];
    widths[place] = width;
    const text = this.withWidths(widths, (at) => at === run && place % 2 === 1);
    // No literal has digits here, so that only blanks may make one.
    if (place % 2 === 0 && !hasFormats(line, text)) return false;
    const changed = this.changedIn(text);
    if (changed === null) return false;
    if (line.runs[run]!.start < line.prefix.end && (place % 2 === 0 || !line.writerRuns.includes(line.runs[run]!))) {
      const { time: _, end: __, ...writer } = stripPrefix(text, line.label);
      if ((Object.keys(writer) as (keyof typeof writer)[]).some((key) => writer[key] !== line.prefix[key]))
        return false;
    }
    if ([...changed.keys()].some((at) => place % 2 === 0 || !this.mayFollow(at, run))) return false;
    for (const [at, value] of changed) {
      const table = this.tables.get(at) ?? { leaf: line.leaves[at]!, run, values: [] };
      table.values[width] = value;
      this.tables.set(at, table);
    }
    return true;
  }

  /** Whether a value may depend on the width of a run: it is of the same finding as a field with that number. */
  private mayFollow(at: number, run: number): boolean {
    const { leaves, numbers, setters } = this.line;
    const { finding, other } = leaves[at]!;
    const table = this.tables.get(at);
    return (
      (table === undefined || table.run === run) &&
      setters.some(({ leaf, slot }) => {
        const number = numbers[slot]!;
        return leaf.finding === finding && leaf.other === other && run >= number.run && run <= lastRunOf(number);
      })
    );
  }

  /** Whether all widths between the least and the most are read in the same way, as far as lines of many show. */
  holds(): boolean {
    const { least, most, line } = this;
    const all = line.runs.flatMap((_, run) => [run * 2, run * 2 + 1]);
    const mixed = (isMost: (place: number) => boolean): Widths =>
      all.map((place) => (isMost(place) ? most[place]! : least[place]!));
    // A format may look at whether all numbers have as many digits.
    for (let digits = 1; digits <= maxOf(most.filter((_, place) => place % 2 === 1)); digits += 1) {
      const isReadAlike = (): boolean =>
        this.isRead(all.map((place) => Math.min(most[place]!, Math.max(least[place]!, place % 2 === 0 ? 1 : digits))));
      for (const place of all) {
        if (isReadAlike()) break;
        if (place % 2 === 0 || this.own[place] === digits) continue;
        const before = [least[place]!, most[place]!] as const;
        if (this.own[place]! < digits) most[place] = Math.min(most[place]!, digits - 1);
        else least[place] = Math.max(least[place]!, digits + 1);
        if (!isReadAlike()) [least[place], most[place]] = before;
      }
      if (!isReadAlike()) return false;
    }
    return (
      [() => true, () => false, (place: number) => place % 2 === 0, (place: number) => place % 2 === 1].every(
        (isMost) => this.isRead(mixed(isMost)),
      ) &&
      Array.from({ length: RANDOM_LINES }, () =>
        all.map((place) => least[place]! + this.next(most[place]! - least[place]! + 1)),
      ).every((widths) => this.isRead(widths))
    );
  }

  private isRead(widths: Widths): boolean {
    const changed = this.changedIn(this.withWidths(widths, (at) => !this.line.fixed.has(this.line.runs[at]!)));
    if (changed === null) return false;
    const { tables } = this;
    const { values } = this.line;
    for (const at of changed.keys()) if (!tables.has(at)) return false;
    for (const [at, { run, values: byWidth }] of tables)
      if (!Object.is(changed.get(at) ?? values[at], byWidth[widths[run * 2 + 1]!] ?? values[at])) return false;
    return true;
  }

  /** The line with other widths; null if it is read in another way, else the numbers that no number of it explains. */
  private changedIn(text: string): ReadonlyMap<number, number> | null {
    const { line } = this;
    if (REFUSED.test(text)) return null;
    const { end, time } = stripPrefix(text, line.label);
    if (shapeOf(text.slice(0, end)) !== shapeOf(line.text.slice(0, line.prefix.end))) return null;
    const runs = runsIn(text);
    const printed = ({ run, before, length }: { run: number; before: number; length: number }): string =>
      text.slice(runs[run]!.start - before, runs[run]!.start - before + length);
    if (runs.length !== line.runs.length || (line.time !== null && printed(line.time) !== time)) return null;
    const { values, structure } = leavesOf(readRecords(line.formats, text.slice(end)));
    if (structure !== line.structure) return null;
    const changed = new Map<number, number>();
    for (const [at, value] of values.entries()) {
      const [setter, place] = [this.setterAt.get(at), this.textAt.get(at)];
      if (setter !== undefined) {
        const number = line.numbers[setter.slot]!;
        const figure = Number(text.slice(runs[number.run]!.start, runs[lastRunOf(number)]!.end));
        if (!Object.is(setter.make(figure), value)) return null;
      } else if (place !== undefined) {
        if (printed(place) !== value) return null;
      } else if (!Object.is(value, line.values[at])) {
        const isNumber = typeof value === 'number' && typeof line.values[at] === 'number';
        if (!isNumber || setterFor(line.leaves[at]!) === undefined) return null;
        changed.set(at, value);
      }
    }
    return changed;
  }

  /** The line with so many blanks and digits, some of them others. */
  private withWidths(widths: Widths, isOther: (run: number) => boolean): string {
    const { text, runs } = this.line;
    let changed = '';
    let from = 0;
    runs.forEach(({ start, end, blanks }, at) => {
      changed += text.slice(from, start - blanks) + ' '.repeat(widths[at * 2]!);
      const digits = widths[at * 2 + 1]!;
      if (!isOther(at)) changed += text.slice(start, end);
      else for (let digit = 0; digit < digits; digit += 1) changed += this.next(10);
      from = end;
    });
    return changed + text.slice(from);
  }

  /** The same numbers for every line: what is learned of a log must not differ between two readings. */
  private next(below: number): number {
    this.random = (Math.imul(this.random, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (this.random >>> 8) % below;
  }
}
