import { loadData } from '../../src/knowledge/load-data.js';
import { parseClockTime } from '../../src/text/clock-text.js';
import { utf8 } from '../../src/text/text-lines.js';
import type { AccountingRecord } from './accounting-record.js';
import { parseElapsed, parseExitCode, parseReqMem, parseSize, parseTres } from './figures.js';
import type { JobWriter } from './job-writer.js';
import { parseState } from './states.js';

/** `src/knowledge/inputs/slurm-fields.yaml`. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(loadData('inputs/slurm-fields') as readonly string[]);
const MOST_COLUMNS = 256;
const MOST_CELL = 4096;

export interface TableShape {
  readonly names: readonly string[];
  /** Columns of fixed width, by the dashes below the header; null if `|` separates them. */
  readonly spans: readonly (readonly [number, number])[] | null;
}

/**
 * Job, array task or part of a heterogeneous job, and step. Pending array tasks are a list in brackets, and a column of
 * twelve characters cuts steps: `12345678.ex+`.
 */
export const JOB_ID =
  /^(\d{1,12}(?:_(?:\d{1,9}|\[[\d,%-]{1,200}\])|\+\d{1,6})?)(?:\.([a-z]{3,20}|[a-z]{1,10}\+|\d{1,9}(?:\+\d{1,6})?))?$/;

/** A header of `sacct --parsable` or `--parsable2`; null for any other line. */
export function parsableHeader(line: string): TableShape | null {
  if (!line.includes('|') || line.length > 8192) return null;
  const names = line.trim().split('|', MOST_COLUMNS);
  if (names.at(-1) === '') names.pop();
  return isHeader(names) ? { names, spans: null } : null;
}

/** A header of fixed columns, with the line of dashes that gives their positions. */
export function fixedHeader(line: string, dashes: string): TableShape | null {
  if (line.length > 8192 || !/^\s{0,8}-{3,400}(?: -{2,400}){0,256}\s{0,8}$/.test(dashes)) return null;
  const spans = [...dashes.matchAll(/-{1,400}/g)].map((match): [number, number] => [
    match.index,
    match.index + match[0].length,
  ]);
  const names = spans.map(([from, to], i) => line.slice(from, i === spans.length - 1 ? undefined : to).trim());
  return isHeader(names) ? { names, spans } : null;
}

function isHeader(names: readonly string[]): boolean {
  const known = names.filter((name) => KNOWN_FIELDS.has(name)).length;
  return known >= 2 && known >= 0.8 * names.length && names.some((name) => name === 'JobID' || name === 'JobIDRaw');
}

/**
 * The columns of parsable rows without their header (`sacct -n`): only the job, its state and its exit code are
 * recognisable. Null unless they are in all of the rows.
 */
export function guessShape(lines: readonly string[]): TableShape | null {
  const rows = lines.map((line) => line.split('|', MOST_COLUMNS));
  const width = rows[0]?.length ?? 0;
  if (width < 3 || !rows.every((row) => row.length === width && JOB_ID.test(row[0]!.trim()))) return null;
  const columns = rows[0]!.map((_cell, i) => rows.map((row) => row[i]!.trim()));
  const states = columns.flatMap((cells, i) => (cells.every((cell) => parseState(cell) !== null) ? [i] : []));
  const exits = columns.flatMap((cells, i) => (cells.every((cell) => /^\d{1,3}:\d{1,3}$/.test(cell)) ? [i] : []));
  if (states.length !== 1) return null;
  return {
    spans: null,
    names: columns.map((_cells, i) =>
      i === 0 ? 'JobID' : i === states[0] ? 'State' : exits.length === 1 && i === exits[0] ? 'ExitCode' : '',
    ),
  };
}

/** Rows of `sacct`, of which lines before the header and headers that come again are none. */
export class TableReader {
  private readonly writer: JobWriter;
  private shape: TableShape | null;
  private before = '';

  constructor(writer: JobWriter, shape: TableShape | null) {
    this.writer = writer;
    this.shape = shape;
  }

  take(raw: string, line: number, offset: number, isWhole: boolean): void {
    // Fixed columns are counted in characters.
    const text = utf8(raw);
    if (text.trim() === '') return;
    const { before, writer } = this;
    this.before = text;
    const header = parsableHeader(text) ?? fixedHeader(before, text);
    if (header !== null) {
      this.shape = header;
      // The line before the dashes was a header after all.
      if (header.spans !== null && writer.oddities.first('slurm_foreign')?.line === line - 1)
        writer.oddities.forget('slurm_foreign');
      return;
    }
    const { shape } = this;
    const cells = shape === null ? null : cellsOf(text, shape);
    const record = cells === null ? null : recordOf(shape!, cells, text, line, offset);
    if (!isWhole && (record === null || /[\w]$/.test(text))) {
      // A last word without its line feed may have lost its end.
      writer.oddities.add('slurm_cut', line, offset);
    } else if (record === null) writer.oddities.add('slurm_foreign', line, offset);
    else writer.add(record);
  }
}

/** The cells of a row; null where there are more or fewer than columns. */
function cellsOf(text: string, { names, spans }: TableShape): readonly string[] | null {
  if (spans !== null) {
    return spans.map(([from, to], i) => text.slice(from, i === spans.length - 1 ? undefined : to).trim());
  }
  const cells = text.split('|', MOST_COLUMNS * 2);
  if (cells.length === names.length + 1 && cells.at(-1)!.trim() === '') cells.pop();
  // Names of jobs may hold the separator, which nothing quotes.
  const name = names.indexOf('JobName');
  const extra = cells.length - names.length;
  if (extra > 0 && name >= 0) cells.splice(name, extra + 1, cells.slice(name, name + extra + 1).join('|'));
  return cells.length === names.length ? cells : null;
}

/** Whether a line is a row of a table, by the id of its job. */
export function isRow(text: string, shape: TableShape): boolean {
  const at = shape.names.findIndex((name) => name === 'JobID' || name === 'JobIDRaw');
  return JOB_ID.test(cellsOf(text, shape)?.[at]?.trim() ?? '');
}

function wholeStep(step: string): string {
  const cut = /^([a-z]{1,10})\+$/.exec(step)?.[1];
  return cut === undefined ? step : (['batch', 'extern', 'interactive'].find((name) => name.startsWith(cut)) ?? step);
}

function recordOf(
  { names }: TableShape,
  cells: readonly string[],
  text: string,
  line: number,
  offset: number,
): AccountingRecord | null {
  const cell = (name: string): string | undefined => {
    const at = names.indexOf(name);
    const value = at < 0 ? '' : cells[at]!.trim();
    return value === '' || value.length > MOST_CELL ? undefined : value;
  };
  const id = JOB_ID.exec(cell('JobID') ?? cell('JobIDRaw') ?? '');
  if (id === null) return null;
  const stateText = cell('State') ?? '';
  const time = (name: string): number | undefined => parseClockTime(cell(name) ?? '')?.us;
  const count = (...fields: readonly string[]): number | undefined => {
    const value = fields.map(cell).find((known) => known !== undefined);
    return value !== undefined && /^\d{1,9}$/.test(value) && Number(value) > 0 ? Number(value) : undefined;
  };
  const used = parseTres(cell('TRESUsageInMax') ?? '');
  const elapsedRaw = cell('ElapsedRaw');
  const limitRaw = cell('TimelimitRaw');
  const exitText = cell('ExitCode');
  const utilization = used.get('gres/gpuutil');
  return {
    job: id[1]!,
    step: id[2] === undefined ? null : wholeStep(id[2]),
    name: cell('JobName'),
    state: parseState(stateText),
    stateText,
    exitCode: parseExitCode(exitText ?? '') ?? parseExitCode(cell('DerivedExitCode') ?? ''),
    exitText,
    startUs: time('Start'),
    endUs: time('End'),
    endText: time('End') === undefined ? undefined : cell('End'),
    elapsedS:
      elapsedRaw !== undefined && /^\d{1,12}$/.test(elapsedRaw)
        ? Number(elapsedRaw)
        : (parseElapsed(cell('Elapsed') ?? '') ?? undefined),
    limitS:
      limitRaw !== undefined && /^\d{1,12}$/.test(limitRaw)
        ? Number(limitRaw) * 60
        : (parseElapsed(cell('Timelimit') ?? '') ?? undefined),
    nodeList: /^None assigned$/i.test(cell('NodeList') ?? '') ? undefined : cell('NodeList'),
    nodes: count('NNodes', 'AllocNodes') ?? (Number(parseTres(cell('AllocTRES') ?? '').get('node') ?? 0) || undefined),
    cpus: count('AllocCPUS', 'NCPUS'),
    tasks: count('NTasks'),
    reqMem: parseReqMem(cell('ReqMem') ?? '') ?? undefined,
    allocMem: parseSize(parseTres(cell('AllocTRES') ?? '').get('mem') ?? '') ?? undefined,
    maxRss: parseSize(cell('MaxRSS') ?? used.get('mem') ?? '') ?? undefined,
    maxRssNode: cell('MaxRSSNode'),
    aveRss: parseSize(cell('AveRSS') ?? '') ?? undefined,
    maxVmSize: parseSize(cell('MaxVMSize') ?? used.get('vmem') ?? '') ?? undefined,
    gpuMem: parseSize(used.get('gres/gpumem') ?? '') ?? undefined,
    gpuUtil: utilization !== undefined && /^\d{1,5}(?:\.\d{1,3})?$/.test(utilization) ? Number(utilization) : undefined,
    failedNode: cell('FailedNode'),
    reason: cell('Reason') === 'None' ? undefined : cell('Reason'),
    line,
    offset,
    text,
  };
}
