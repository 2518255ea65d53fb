/** One handle in full, or the list of them. */
import { pushAll } from '../../model/lists.js';
import type { AccountingPart, AccountingTotal, EvidenceResult, ShowResult } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { screen } from '../screen.js';
import { sqlTable } from '../store/sql-text.js';
import { left, printable, right, table } from '../table.js';
import { paragraph, plain, rankName, wrapped } from '../text-pieces.js';
import { type DiagnosedTarget, withTarget } from './diagnosis-parts.js';

/** Frames of a stack beyond these are the launcher's. */
const MOST_FRAMES = 24;
/** A cell of a table; `--json` has all of it. */
const LONGEST_CELL = 160;

export function showText(result: ShowResult, target: DiagnosedTarget = {}): string {
  const lines = [headOf(result)];
  if (result.handles !== null) pushAll(lines, listOf(result, result.handles, target));
  if (result.accounting !== null) pushAll(lines, accountsOf(result.accounting));
  if (result.tests !== null) pushAll(lines, testsOf(result.tests));
  if (result.captures !== null) pushAll(lines, capturesOf(result.captures));
  if (result.evidence !== null) pushAll(lines, entryOf(result.evidence, result));
  return `${lines.join('\n')}\n`;
}

function headOf({ run, verdict, verdicts, rank, device, cause }: ShowResult): string {
  const place = [rankName(rank), ...(device === null ? [] : [`device ${device}`])];
  const which = verdicts > 1 ? ` · verdict ${verdict} of ${formatCount(verdicts)}` : '';
  return `${place.join(' · ')} · ${cause.replaceAll('_', ' ')}${which} · run ${printable(run)}`;
}

function listOf(result: ShowResult, handles: readonly EvidenceResult[], target: DiagnosedTarget): string[] {
  const lines: string[] = [''];
  for (const { id, text, source } of handles) {
    pushAll(lines, wrapped(`  ${id.padEnd(5)}${printable(text)}`, ' '.repeat(7)));
    pushAll(lines, wrapped(`${' '.repeat(7)}[${printable(source)}]`, ' '.repeat(8)));
  }
  const number = result.verdict === 1 ? '' : ` --verdict ${result.verdict}`;
  const [first] = handles;
  const words = [...(first === undefined ? [] : [first.id]), 'accounting', 'tests', 'captures'];
  pushAll(lines, ['', ...words.map((word) => `  ${withTarget(`mbforensics show ${word}${number}`, target)}`)]);
  return lines;
}

const OUTCOMES = { holds: 'holds', fails: 'fails', not_testable: 'not tested' } as const;

function testsOf({ tests, missing, combination, rules }: NonNullable<ShowResult['tests']>): string[] {
  const lines: string[] = [''];
  if (tests.length === 0) lines.push('  no test ran: the kind of the failure decides');
  for (const test of tests) {
    const label = `  ${OUTCOMES[test.outcome].padEnd(11)}`;
    const needs = test.outcome === 'not_testable' ? 'needs ' : '';
    pushAll(
      lines,
      wrapped(`${label}${test.cause.replaceAll('_', ' ')}: ${needs}${printable(test.text)}`, ' '.repeat(13)),
    );
    const numbers = Object.entries(test.numbers).map(([name, value]) =>
      name.endsWith('_bytes') ? `${plain(name.slice(0, -6))} ${formatBytes(value)}` : `${plain(name)} ${value}`,
    );
    if (numbers.length > 0) pushAll(lines, wrapped(`${' '.repeat(13)}${numbers.join(' · ')}`, ' '.repeat(13)));
  }
  if (missing.length > 0) pushAll(lines, ['', '  not known', ...missing.flatMap((text) => item(text))]);
  if (combination.length > 0)
    pushAll(lines, ['', '  how one verdict was made of them', ...combination.flatMap((text) => item(text))]);
  return [...lines, '', '  all rules, in the order they are applied', ...rules.flatMap(({ text }) => item(text))];
}

function item(text: string): string[] {
  return paragraph(`    ${printable(text)}`);
}

export const FRAMEWORKS = [
  ['megatron_bridge', 'Megatron Bridge'],
  ['nemo', 'NeMo'],
  ['megatron_lm', 'Megatron-LM'],
  ['pytorch', 'PyTorch alone'],
] as const;

function capturesOf(captures: NonNullable<ShowResult['captures']>): string[] {
  if (captures.length === 0) return ['', '  every test ran: nothing has to be captured'];
  return captures.flatMap(({ title, settles, lines }) => [
    '',
    ...paragraph(`  ${printable(title)} (settles: ${settles.map(plain).join(', ')})`),
    // Lines to paste are not wrapped.
    ...FRAMEWORKS.flatMap(([key, name]) => [`    ${name}`, ...lines[key].map((line) => `      ${line}`)]),
  ]);
}

const FROM = { snapshot: 'the snapshot', log: 'the log', joined: 'snapshot and log joined' } as const;

function accountsOf({ total, parts, from, peak }: NonNullable<ShowResult['accounting']>): string[] {
  const lines: string[] = [];
  if (total !== null)
    pushAll(lines, ['', `  when it failed (from ${FROM[from ?? 'log']})`, ...accountTable(total, parts)]);
  if (peak !== null) {
    const moment = {
      peak: 'at the peak, when most was live',
      dump: 'as dumped, since no trace shows the peak',
      lines: 'peaks of the memory lines',
    };
    pushAll(lines, ['', `  ${moment[peak.moment]} (from ${FROM[peak.from]})`, ...accountTable(peak.total, peak.parts)]);
  }
  return lines.length === 0 ? ['', '  no account: the figures of the device are not in the evidence'] : lines;
}

function accountTable(total: AccountingTotal, parts: readonly AccountingPart[]): string[] {
  const rows = parts.flatMap((part) => [
    row(part.part, part, ''),
    ...(part.of ?? []).map((share) => row(share.part, share, '  of it ')),
  ]);
  return table(
    [left('part'), right('size'), right('bytes'), { title: 'source', isWhole: true }],
    [...rows, [`= ${total.text}`, formatBytes(total.bytes), formatCount(total.bytes), total.source]],
    '  ',
  ).split('\n');
}

function row(name: string, { bytes, source }: AccountingPart, indent: string): string[] {
  return [`${indent}${name.replaceAll('_', ' ')}`, formatBytes(bytes), formatCount(bytes), source];
}

function entryOf({ id, text, source, about }: EvidenceResult, result: ShowResult): string[] {
  const lines = [
    '',
    ...wrapped(`  ${id.padEnd(5)}${printable(text)}`, ' '.repeat(7)),
    ...wrapped(`${' '.repeat(7)}[${printable(source)}]`, ' '.repeat(8)),
    ...quoted(result),
    ...stack(result),
  ];
  const { query } = result;
  if (query === null) {
    const why =
      about === 'replay'
        ? 'computed by the allocator model from the trace: `mbforensics whatif replay` and `mbforensics whatif` show it'
        : 'no row of the store is behind it';
    return [...lines, '', `  ${why}`];
  }
  lines.push('', `  ${query.title}`);
  const cells = result.rows.map((cellsOf) => cellsOf.map(shortCell));
  if (cells.length === 0) lines.push('    no rows: what it needs was not kept in the store');
  else
    pushAll(
      lines,
      sqlTable({ schema: 'mbforensics/sql@1', columns: result.columns, rows: cells, truncated: false })
        .trimEnd()
        .split('\n')
        .map((line) => `    ${line}`),
    );
  if (result.rows_left_out > 0) lines.push(`    ${formatCount(result.rows_left_out)} more; --limit 0 prints all`);
  const params = Object.entries(query.params).map((param) => printable(paramText(param)));
  pushAll(lines, ['', ...paragraph(`  query ${query.name} with ${params.join(', ')}`)]);
  pushAll(
    lines,
    query.sql.split('\n').map((line) => `    ${line}`.trimEnd()),
  );
  return lines;
}

/** `$rank = 3`, as SQL has it. */
export function paramText([name, value]: readonly [name: string, value: string | number | null]): string {
  return `$${name} = ${typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : (value ?? 'NULL')}`;
}

function shortCell(cell: unknown): unknown {
  return typeof cell === 'string' && cell.length > LONGEST_CELL ? `${cell.slice(0, LONGEST_CELL - 1)}…` : cell;
}

export const WHY_NO_LINES = {
  changed: 'the file has changed since it was read: its lines are not quoted',
  gone: 'the file is gone: its lines cannot be quoted',
  unreadable: 'the file cannot be read any more: its lines cannot be quoted',
} as const;

function quoted({ text, evidence }: ShowResult): string[] {
  if (text === null || evidence?.lines === undefined || !('line' in evidence.lines)) return [];
  if (text.status !== 'same' && text.status !== 'same_size') return ['', `  ${WHY_NO_LINES[text.status]}`];
  const at = evidence.lines.line;
  const last = text.first_line + text.lines.length - 1;
  const width = formatCount(last).length;
  const lines = text.lines.map((line, i) => {
    const number = text.first_line + i;
    const start = `  ${number === at ? '>' : ' '} ${formatCount(number).padStart(width)}  `;
    const body = printable(line.replaceAll('\t', '    '));
    // The line itself whole, its neighbours as far as one line goes.
    if (number === at) return wrapped(`${start}${body}`, ' '.repeat(start.length)).join('\n');
    return `${start}${body.length > screen.width - start.length ? `${body.slice(0, screen.width - start.length - 1)}…` : body}`.trimEnd();
  });
  const note =
    text.status === 'same_size' ? ['  (a large file with another time of change: only parts of it were compared)'] : [];
  return ['', ...lines, ...note];
}

function stack({ frames }: ShowResult): string[] {
  if (frames === null) return [];
  const shown = frames.slice(0, MOST_FRAMES).map((frame) => `    ${printable(frame)}`);
  const more = frames.length - shown.length;
  return [
    '',
    '  stack of the entry, innermost first',
    ...shown,
    ...(more > 0 ? [`    ${formatCount(more)} more`] : []),
  ];
}
