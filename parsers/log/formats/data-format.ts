/**
 * Log formats as data: `src/knowledge/log-formats/*.yaml`. An entry has the facts of a {@link LogFormat} and the rows
 * that a match becomes. It is turned into functions once, when the list is loaded. See `parsers/log/FORMAT.md`.
 */
import { envFinding } from '../../../src/knowledge/env-keys.js';
import { loadData } from '../../../src/knowledge/load-data.js';
import { pushAll } from '../../../src/model/lists.js';
import type { IterationFinding, LogFinding, ValueFinding } from '../../../src/model/log-rows.js';
import type { IncidentKind } from '../../../src/model/vocabulary.js';
import { settingFinding } from '../../../src/text/flatten-settings.js';
import type {
  BlockFormat,
  BlockStep,
  Emit,
  FormatCode,
  Groups,
  LineFormat,
  LogFormat,
  NumberFunction,
} from './contract.js';
import { CONVERSIONS, type Converted, lookUp, SIZES } from './conversions.js';
import { groupNames, isDigitBlind } from './digit-blind.js';
import { pythonNumber } from './field-list.js';
import type {
  BlockEntry,
  CodeEntry,
  Columns,
  Conditions,
  FormatEntry,
  FormatFile,
  Row,
  RowOf,
  Shared,
} from './format-shape.js';
import { emitLayout } from './layout-findings.js';
import { bytesOf, memoryFigure, millisecondsOf, PRINTED_UNITS, precisionOf } from './units.js';

/** The formats of a file in its order. */
export function dataFormats(name: string, code: readonly FormatCode[]): readonly LogFormat[] {
  const byId = new Map(code.map((format) => [format.id, format]));
  const file = loadData(`log-formats/${name}`) as FormatFile;
  return file.formats.map((entry) => {
    if ('lines' in entry) return compileBlock(entry, file);
    if ('rows' in entry) return compileFormat(entry, file);
    return withCode(entry, byId.get(entry.id)!, file);
  });
}

function withCode(
  { pattern, opens, tables = {}, anchors, ...facts }: CodeEntry,
  code: FormatCode,
  file: FormatFile,
): LogFormat {
  const maps = Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [name, new Map(Object.entries(table))]),
  );
  const listed = anchors.flat().flatMap((anchor) => (anchor === '%{CODE}' ? code.anchors! : [anchor]));
  const line = pattern === undefined ? undefined : patternOf(pattern, file, 'g');
  const common = { producer: file.producer, ...facts, ...code, anchors: listed };
  return 'begin' in code
    ? ({
        ...{ ...common, form: 'block', opens: code.opens ?? patternOf(opens!, file, '') },
        begin: (match, emit) => code.begin(match, emit, maps),
      } as BlockFormat)
    : ({
        ...{ ...common, form: 'line', pattern: line },
        read: (groups, emit) => code.read(groups, emit, maps),
        cutAtEnd: code.cutAtEnd === undefined ? undefined : (text) => code.cutAtEnd!(text, line!),
      } as LineFormat);
}

/** @param used gets the groups that rows use */
export function compileFormat(entry: FormatEntry, file: Shared, used = new Set<string>()): LineFormat {
  const { id, title, versions, source, anchors, tables = {}, replace } = entry;
  const pattern = patternOf([entry.pattern].flat().join('|'), file, `g${entry.flags ?? ''}`);
  const compiler = new RowCompiler(tables, used);
  const rows = compiler.rows(entry.rows);
  const replaced = Object.entries(replace ?? {}).map(
    ([group, rules]) => [group, rules.map(([from, to]) => [new RegExp(from, 'g'), to] as const)] as const,
  );
  const replacedAreBlind = replaced.every(([, rules]) => rules.every(([from]) => isDigitBlind(from)));
  return {
    form: 'line',
    id,
    title,
    producer: entry.producer ?? file.producer!,
    versions,
    source,
    anchors,
    fields:
      entry.fields ?? Object.fromEntries(groupNames(pattern).map((group) => [group, file.fields?.[group] ?? group])),
    pattern,
    byShape: compiler.byShape && replacedAreBlind ? compiler.functions : undefined,
    read(groups, emit) {
      for (const [group, rules] of replaced) {
        const before = groups[group];
        // The groups of a match are of this call alone, and copying them takes longer.
        if (before !== undefined)
          (groups as Record<string, string>)[group] = rules.reduce(
            (kept, [from, to]) => kept.replace(from, to),
            before,
          );
      }
      for (const row of rows) row(groups, emit);
    },
  };
}

export function compileBlock(entry: BlockEntry, file: Shared, used = new Set<string>()): BlockFormat {
  const { lines, start = [], end, opens, tables = {}, ...facts } = entry;
  const compiler = new RowCompiler(tables, used);
  const readers = lines.map(({ match, then = 'taken' as BlockStep, rows = [], ...conditions }) => {
    const pattern = patternOf(match, file, '');
    const [names, holds] = [groupNames(pattern), compiler.holds(conditions)];
    return { pattern, names, holds, rows: compiler.rows(rows), then };
  });
  const startRows = compiler.rows(start);
  const endRows = end === undefined ? null : compiler.rows(end);
  return {
    producer: file.producer!,
    ...facts,
    form: 'block',
    opens: patternOf(opens, file, ''),
    begin(opening, emit) {
      const groups: Record<string, string | undefined> = { ...opening.groups };
      const taken: string[] = [];
      for (const row of startRows) row(groups, emit);
      return {
        line(text) {
          for (const { pattern, names, holds, rows, then } of readers) {
            const match = pattern.exec(text);
            if (match === null) continue;
            // Copying an object of groups takes longer than the match.
            for (const name of names) groups[name] = match.groups![name];
            if (!holds(groups)) continue;
            for (const row of rows) row(groups, emit);
            if (endRows !== null && then === 'taken') taken.push(text);
            return then;
          }
          return 'foreign';
        },
        end() {
          groups['lines'] = taken.join('\n');
          for (const row of endRows ?? []) row(groups, emit);
        },
      };
    },
  };
}

/** Parts may have parts. */
function patternOf(text: string, { parts }: Shared, flags: string): RegExp {
  const filled = (piece: string): string => piece.replaceAll(/%\{(\w+)\}/g, (_, part: string) => filled(parts![part]!));
  return new RegExp(filled(text), flags);
}

/** Columns of a failure by the group that has them. */
const FAILURE_COLUMNS = { rank: 'rank', localRank: 'local', pid: 'pid', exitCode: 'exitcode' };

type Where = { -readonly [Name in keyof Columns]?: number };
type Evaluate = (groups: Groups) => Converted;
/** Emits a row; false where its conditions do not hold. */
type EmitRow = (groups: Groups, emit: Emit) => boolean;

/** Conversions of {@link CONVERSIONS} that are blind to digits, or keep them. */
const BY_SHAPE: ReadonlySet<string> = new Set([
  ...['snake', 'words', 'lower', 'trim', 'python', 'finite', 'commas', 'ms_of_s', 'iteration', 'list', 'items'],
  ...['leading', 'ms_behind_s'],
  ...['decimal', 'size', 'binary'],
]);
const HAS_DIGIT = /\d/;
class RowCompiler {
  /** Whether {@link LineFormat.byShape} holds, and its functions. */
  byShape = true;
  readonly functions: NumberFunction[] = [millisecondsOf];
  private readonly tables: NonNullable<FormatEntry['tables']>;
  private readonly used: Set<string>;

  constructor(tables: NonNullable<FormatEntry['tables']>, used: Set<string>) {
    this.tables = tables;
    this.used = used;
  }

  /** `isBlind`: what is compiled does not depend on the values of digits. */
  private blind(isBlind: boolean): void {
    this.byShape &&= isBlind;
  }

  rows(rows: readonly Row[]): readonly EmitRow[] {
    return rows.map((row) => {
      const emitRow = this.row(row);
      if (row.when === undefined && row.unless === undefined) return emitRow;
      const holds = this.holds(row);
      return (groups, emit) => holds(groups) && emitRow(groups, emit);
    });
  }

  holds({ when, unless }: Conditions): (groups: Groups) => boolean {
    const [needed, excluded] = [this.conditions(when), this.conditions(unless)];
    return (groups) => needed.every((test) => test(groups)) && !excluded.some((test) => test(groups));
  }

  private row(row: Row): EmitRow {
    if ('first' in row) {
      const rows = this.rows(row.first);
      return (groups, emit) => rows.some((candidate) => candidate(groups, emit));
    }
    if ('each' in row) return this.each(row);
    if ('value' in row) return this.value(row);
    if ('memory' in row) return this.memory(row);
    if ('phase' in row) return this.phase(row);
    if ('setting' in row) return this.setting(row);
    if ('env' in row) {
      // Which variables are kept is decided by their names.
      this.blind(false);
      return emitting([this.text(row.env), this.text(row.to)], ([key, value], _, emit) => {
        const finding = envFinding(String(key), String(value), row.origin);
        if (finding !== null) emit(finding);
      });
    }
    if ('layout' in row) {
      const [key, raw, of] = [this.text(row.layout), this.text(row.raw), this.expression(row.of)];
      return emitting([key, raw, of], ([name, rawKey, text], _, emit) =>
        emitLayout(String(name), String(rawKey), String(text), emit),
      );
    }
    if ('launch' in row) {
      const writer = this.optional(row.writer);
      return emitting([this.text(row.launch)], ([label], groups, emit) =>
        emit({ row: 'launch', label: String(label), stage: row.stage, writer: writer(groups) as string | undefined }),
      );
    }
    if ('failure' in row) return this.failure(row);
    return this.iteration(row);
  }

  private each(row: RowOf['each']): EmitRow {
    const [of, pattern] = [this.expression(row.each), new RegExp(row.match, 'gm')];
    const used = new Set<string>();
    const inside = new RowCompiler(this.tables, used);
    const rows = inside.rows(row.rows);
    this.blind(inside.byShape && isDigitBlind(pattern));
    pushAll(this.functions, inside.functions);
    const isCounted = used.delete('position');
    for (const group of used) this.used.add(group);
    // Copying all groups would take longer than the match.
    const outerNames = [...used].filter((group) => !row.match.includes(`(?<${group}>`));
    return emitting([of], ([list], outer, emit) => {
      const text = String(list);
      pattern.lastIndex = 0;
      let position = 0;
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        const groups = match.groups ?? {};
        position += 1;
        if (isCounted) groups['position'] = String(position);
        for (const name of outerNames) groups[name] = outer[name]!;
        for (const inner of rows) inner(groups, emit);
        if (match[0] === '') pattern.lastIndex += 1;
      }
    });
  }

  private value(row: RowOf['value']): EmitRow {
    const where = this.columns(row);
    const text = this.text(row.text);
    const needed = [this.text(row.value), ...(row.of === undefined ? [] : [this.expression(row.of)])];
    const factor = this.factor(row.means ?? row.times);
    const unit = this.text(row.means === undefined ? row.unit : 'bytes');
    return emitting(needed, ([name, printed], groups, emit) => {
      if (printed === null) return;
      const value = printed === undefined ? null : Number(printed);
      const finding: { -readonly [Key in keyof ValueFinding]: ValueFinding[Key] } = {
        row: 'value',
        name: String(name),
        value: value === null || factor === undefined ? value : Math.round(value * factor(groups)),
        unit: (unit(groups) ?? null) as string | null,
        text: text(groups) as string | undefined,
      };
      where(finding as Where, groups);
      emit(finding);
    });
  }

  private memory(row: RowOf['memory']): EmitRow {
    const where = this.columns(row);
    const [moment, unit, factor] = [this.text(row.moment), this.text(row.unit), this.factor(row.means ?? row.unit)];
    const precision = precisionOf(row.precision);
    this.blind(typeof row.precision !== 'object' || row.precision.significant === undefined);
    return emitting([this.text(row.memory), this.expression(row.of)], ([metric, printed], groups, emit) => {
      const more: Where & { moment: string | undefined } = { moment: moment(groups) as string | undefined };
      where(more, groups);
      const name = String(metric);
      const text = String(printed);
      if (row.unit === 'count')
        emit({
          row: 'memory',
          metric: name,
          bytes: null,
          value: Number(text),
          unit: 'count',
          precisionBytes: 0,
          ...more,
        });
      else emit(memoryFigure(name, text, String(unit(groups)), factor!(groups), more, precision(text)));
    });
  }

  private phase(row: RowOf['phase']): EmitRow {
    const where = this.columns(row);
    const time = this.text(row.time);
    return emitting([this.text(row.label)], ([label], groups, emit) => {
      const timeText = time(groups) as string | undefined;
      const finding = { row: 'phase', phase: row.phase, label: String(label), timeText } as const;
      where(finding as Where, groups);
      emit(finding);
    });
  }

  private setting({ setting, raw, to, origin = 'log banner' }: RowOf['setting']): EmitRow {
    const needed = [this.text(setting), this.text(to), this.text(raw ?? '')];
    return emitting(needed, ([name, converted, rawKey], _, emit) => {
      const key = String(name);
      const value = converted === null ? null : String(converted);
      const finding: LogFinding | null =
        raw === undefined
          ? settingFinding(key.split('.'), value, origin)
          : { row: 'config', key, rawKey: String(rawKey), value, origin };
      if (finding !== null) emit(finding);
    });
  }

  private failure(row: RowOf['failure']): EmitRow {
    const [text, host] = [this.optional('text'), this.optional('host')];
    const columns = Object.entries(FAILURE_COLUMNS).map(
      ([column, group]) => [column, this.number(group === 'pid' ? (row.pid ?? group) : group)] as const,
    );
    return emitting([this.text(row.failure)], ([kind], groups, emit) => {
      const numbers: Record<string, number> = {};
      for (const [column, value] of columns) {
        const number = value(groups);
        if (number !== undefined) numbers[column] = number;
      }
      const node = host(groups) as string | undefined;
      const finding = { row: 'failure', kind: kind as IncidentKind, text: String(text(groups) ?? '').trim() } as const;
      emit({ ...finding, ...(node === undefined ? {} : { host: node }), ...numbers });
    });
  }

  private iteration(row: RowOf['iteration']): EmitRow {
    const { iteration: source, target: last, list, others, columns = {}, ...writer } = row;
    const [target, where] = [this.number(last), this.columns(writer)];
    const slots = Object.entries(columns).map(([slot, figure]) => [slot, this.number(figure)] as const);
    const named = Object.entries(others ?? {}).map(([name, text]) => [name, this.expression(text)] as const);
    const fields = list === undefined ? null : this.list(list);
    return emitting([this.number(source)], ([iteration], groups, emit) => {
      const otherValues: { name: string; value: number | null; text: string }[] = [];
      const known: Record<string, unknown> = {};
      where(known, groups);
      for (const [slot, value] of slots) {
        const number = value(groups);
        if (number !== undefined) known[slot] = number;
      }
      for (const [name, value] of named) {
        const text = value(groups);
        if (text !== undefined) otherValues.push({ name, value: pythonNumber(String(text)), text: String(text) });
      }
      if (fields !== null) {
        for (const { groups: field } of String(fields.of(groups) ?? '').matchAll(fields.match)) {
          const { name = '', text = '', figure = text } = field!;
          const column = fields.columns.get(name);
          const inColumn = column?.value(field!);
          const value = fields.as(field!) ?? null;
          if (column !== undefined && typeof inColumn === 'number') known[column.slot] = inColumn;
          else if (fields.skip?.test(`${name} ${text}`) !== true)
            otherValues.push({ name, value: value === null ? pythonNumber(figure) : Number(value), text });
        }
      }
      const isListed = others !== undefined || (list !== undefined && list.skip !== '.');
      emit({
        row: 'iteration',
        iteration: iteration as number,
        target: target(groups) ?? null,
        ...known,
        ...(isListed ? { others: otherValues } : {}),
      } as IterationFinding);
    });
  }

  private list({ of, match, as = 'python', columns, skip }: NonNullable<RowOf['iteration']['list']>) {
    const [each, skipped] = [new RegExp(match, 'gm'), skip === undefined ? undefined : new RegExp(skip)];
    this.blind(
      [each, skipped ?? each].every(isDigitBlind) && !Object.keys(columns).some((name) => HAS_DIGIT.test(name)),
    );
    const read: Evaluate = ({ figure, text }) => figure ?? text;
    const number = this.convert(read, as.split('|'));
    const slots = Object.entries(columns).map(([name, column]) => {
      const [slot = '', ...conversions] = column.split('|');
      return [name, { slot, value: conversions.length === 0 ? number : this.convert(read, conversions) }] as const;
    });
    return { of: this.expression(of), match: each, as: number, columns: new Map(slots), skip: skipped };
  }

  /** Sets the columns of a row whose groups matched. */
  private columns(row: Columns): (finding: Where, groups: Groups) => void {
    const columns = (['iteration', 'rank', 'device'] as const).flatMap((name) =>
      row[name] === undefined ? [] : [[name, this.number(row[name])] as const],
    );
    return (finding, groups) => {
      for (const [name, value] of columns) {
        const number = value(groups);
        if (number !== undefined) finding[name] = number;
      }
    };
  }

  private conditions(conditions: Conditions['when']): readonly ((groups: Groups) => boolean)[] {
    if (conditions === undefined) return [];
    const list = typeof conditions === 'string' ? [conditions] : conditions;
    const entries = Array.isArray(list)
      ? list.map((group: string) => [group, undefined] as const)
      : Object.entries(list);
    return entries.map(([source, condition]) => {
      const value = this.expression(source);
      if (condition === undefined) return (groups) => value(groups) !== undefined;
      this.blind(!source.includes('|'));
      const [, pattern, flags] = /^\/(.*)\/(\w*)$/.exec(String(condition)) ?? [];
      if (pattern !== undefined) {
        const regex = new RegExp(pattern, flags);
        this.blind(isDigitBlind(regex));
        return (groups) => regex.test(String(value(groups) ?? ''));
      }
      const texts = [condition].flat().map(String);
      this.blind(!texts.some((text) => HAS_DIGIT.test(text)));
      return (groups) => texts.includes(String(value(groups) ?? ''));
    });
  }

  /** A factor that is written, one of {@link SIZES}, or what an expression gives. */
  private factor(source: number | string | undefined): ((groups: Groups) => number) | undefined {
    if (source === undefined) return undefined;
    const size = typeof source === 'number' ? source : SIZES[source];
    if (size !== undefined) {
      this.functions.push(bytesOf(size));
      return () => size;
    }
    if (source === 'count') return undefined;
    pushAll(this.functions, PRINTED_UNITS);
    const value = this.expression(String(source));
    return (groups) => Number(value(groups));
  }

  private number(source: string | undefined): (groups: Groups) => number | undefined {
    const value = this.optional(source);
    return (groups) => {
      const text = value(groups);
      return text === undefined || text === null ? undefined : Number(text);
    };
  }

  private optional(source: string | undefined): Evaluate {
    return source === undefined ? () => undefined : this.expression(source);
  }

  /** A text with expressions in braces; undefined where one of them is. */
  private text(source: string | undefined): Evaluate {
    if (source === undefined || !source.includes('{')) return () => source;
    if (source[source.lastIndexOf('}') + 1] === '|') return this.expression(source);
    const parts = source.split(/[{}]/).map((part, at) => (at % 2 === 0 ? part : this.expression(part)));
    if (parts.length === 3 && parts[0] === '' && parts[2] === '') return parts[1] as Evaluate;
    return (groups) => {
      let text = '';
      for (const part of parts) {
        const value = typeof part === 'string' ? part : part(groups);
        if (value === undefined || value === null) return undefined;
        text += value;
      }
      return text;
    };
  }

  private expression(source: string): Evaluate {
    if (source.includes(' ?? ')) {
      const choices = source.split(' ?? ').map((choice) => this.expression(choice));
      return (groups) => {
        for (const choice of choices) {
          const value = choice(groups);
          if (value !== undefined) return value;
        }
        return undefined;
      };
    }
    if (source.includes('{')) {
      const end = source.lastIndexOf('}') + 1;
      const [rest = '', ...conversions] = source.slice(end).split('|');
      return this.convert(this.text(source.slice(0, end) + rest), conversions);
    }
    const [, before, offset] = /^(.+) \+ (\d+)$/.exec(source) ?? [];
    if (before !== undefined) {
      const number = this.number(before);
      this.functions.push((value) => value + Number(offset));
      return (all) => {
        const value = number(all);
        return value === undefined ? undefined : value + Number(offset);
      };
    }
    const [names = '', ...conversions] = source.split('|');
    const [groups = '', standard] = names.split('?', 2);
    const list = groups.split(',');
    for (const group of list) this.used.add(group);
    const [first = '', ...further] = list;
    const read: Evaluate =
      further.length === 0
        ? (all) => all[first] ?? standard
        : (all) => all[list.find((group) => all[group] !== undefined) ?? ''] ?? standard;
    return this.convert(read, conversions);
  }

  private convert(read: Evaluate, names: readonly string[]): Evaluate {
    return names.reduce((inner: Evaluate, name) => {
      const table = this.tables[name];
      const convert = table === undefined ? CONVERSIONS[name] : (text: string) => lookUp(table, text);
      if (convert === undefined) throw new Error(`no conversion ${name}`);
      this.blind(table === undefined ? BY_SHAPE.has(name) : !Object.keys(table).some((text) => HAS_DIGIT.test(text)));
      return (groups) => {
        const value = inner(groups);
        return value === undefined || value === null ? value : convert(String(value));
      };
    }, read);
  }
}

/** Emits where all that is needed has a value; a setting's may be null. */
function emitting(
  needed: readonly Evaluate[],
  emitRow: (values: readonly Converted[], groups: Groups, emit: Emit) => void,
): EmitRow {
  return (groups, emit) => {
    const values: Converted[] = [];
    for (const evaluate of needed) {
      const value = evaluate(groups);
      if (value === undefined) return false;
      values.push(value);
    }
    emitRow(values, groups, emit);
    return true;
  };
}
