/**
 * What a log format is. Its entry in `src/knowledge/log-formats/` states what prints it, since when and where upstream,
 * which literal its lines contain, and the rows they become, or code does that (`data-format.ts`). Its example is in
 * `src/knowledge/log-examples.yaml`; its samples, with the rows that each must yield, are in
 * `test/parsers/log-samples/`, and one generic test reads them all.
 *
 * Patterns run over one line without its prefixes (`src/knowledge/log-prefixes.yaml`) and its ANSI codes, anywhere in
 * the line and as often as they match, because prints of several ranks share lines. Every quantifier is bounded or over
 * a class that excludes what follows it, so that no line causes catastrophic backtracking; a test runs all of them over
 * hostile lines.
 */
import type { LogFinding } from '../../../src/model/log-rows.js';

export type Groups = Readonly<Record<string, string | undefined>>;
export type Emit = (finding: LogFinding) => void;
/** What a field is of one printed number. */
export type NumberFunction = (value: number) => number;

interface FormatFacts {
  /** `<producer>.<what>[@<since>]`, unique. */
  readonly id: string;
  readonly title: string;
  /** `Megatron-LM`, `Megatron Bridge`, `NeMo`, `DeepSpeed`, `PyTorch`, … */
  readonly producer: string;
  /** Range in the producer's own numbers; `[mem]` marks what no source was read for. */
  readonly versions: string;
  /** Upstream file and function. */
  readonly source: string;
  /**
   * Literals of at least eight bytes (shorter ones slow every line down). Every line that matches contains one of them
   * (for a block: its first line).
   */
  readonly anchors: readonly string[];
  /** The named groups and what they mean, with units: `{ allocated: 'MiB, printed as MB' }`. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface LineFormat extends FormatFacts {
  readonly form: 'line';
  /** With flag `g`; its named groups are the keys of `fields`. */
  readonly pattern: RegExp;
  read(groups: Groups, emit: Emit): void;
  /**
   * Whether a line that contains an anchor was cut at its end (a terminal's edge), so that the next line belongs to it.
   */
  readonly cutAtEnd?: (text: string) => boolean;
  /** Read only where no other format finds a record in the line. */
  readonly isFallback?: true;
  /** Of a user: a line that it reads is not read by the formats behind it. */
  readonly isExclusive?: true;
  /**
   * Set where which rows there are, and which fields they have, does not depend on the values of digits; where every
   * number of a row is one printed number or one of these functions of it, or the same for all digits; and where the
   * words around a number, not its length, decide which field it is. How many digits a number has may decide about that
   * number, and whether all have as many about all of them. Lines that differ in numbers only are then read by a
   * template (`line-template.ts`). Texts may have digits.
   */
  readonly byShape?: readonly NumberFunction[] | undefined;
}

/**
 * `taken`: a line of the block. `foreign`: another writer's line in between; the block goes on. `last`: its last line.
 * `over`: the block ended before this line. Lines taken are not shown to line formats.
 */
export type BlockStep = 'taken' | 'foreign' | 'last' | 'over';

export interface BlockReader {
  line(text: string): BlockStep;
  /** The block is complete, cut off, or gave way after {@link BlockFormat.mostForeign} foreign lines. */
  end?(): void;
}

export interface BlockFormat extends FormatFacts {
  readonly form: 'block';
  /** Its first line; no flags. Only lines of the same writer are shown to the reader afterwards. */
  readonly opens: RegExp;
  begin(match: RegExpExecArray, emit: Emit): BlockReader;
  /** Foreign lines in a row before the block is taken to have ended. */
  readonly mostForeign: number;
  /** Most lines in all. */
  readonly mostLines: number;
}

export type LogFormat = LineFormat | BlockFormat;

/** The tables of an entry, text for text. */
export type Tables = Readonly<Record<string, ReadonlyMap<string, string>>>;
/** The code of an entry without rows. It has anchors itself where they are computed. */
export interface LineCode
  extends Pick<LineFormat, 'id' | 'isFallback' | 'byShape'>,
    Partial<Pick<LineFormat, 'anchors'>> {
  readonly cutAtEnd?: (text: string, pattern: RegExp) => boolean;
  read(groups: Groups, emit: Emit, tables: Tables): void;
}
export interface BlockCode extends Pick<BlockFormat, 'id'>, Partial<Pick<BlockFormat, 'anchors' | 'opens'>> {
  begin(match: RegExpExecArray, emit: Emit, tables: Tables): BlockReader;
}
export type FormatCode = LineCode | BlockCode;
