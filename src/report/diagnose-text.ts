/** The first screen: verdict first, numbers that reconcile, evidence with its source, what it is not, what to do next. At most 100 columns. */
import type { DiagnoseResult, Verdict } from '../model/results.js';
import { formatBytes } from '../model/units.js';
import { printable, wrap } from './table.js';

const WIDTH = 100;
const LABEL = 11;
const INDENT = ' '.repeat(LABEL + 2);

export function diagnoseText(result: DiagnoseResult): string {
  const lines: string[] = [];
  if (result.verdicts.length === 0)
    lines.push(`run ${printable(result.run)}: nothing to judge: no memory snapshot and no failure message was found`);
  const [first, ...rest] = result.verdicts;
  if (first !== undefined) lines.push(...verdictLines(first, result.run, result.verdicts.length));
  for (const verdict of rest) {
    lines.push('');
    if (sameStory(verdict, first))
      lines.push(...wrap(`${place(verdict)}: same verdict, ${verdict.cause}: ${verdict.summary}`, WIDTH, INDENT));
    else lines.push(...verdictLines(verdict, result.run, result.verdicts.length));
  }
  lines.push(...firstFailureLines(result));
  for (const failed of result.failed_sources) {
    lines.push('', ...wrap(`not read: ${printable(failed.error.text)} (${failed.error.code})`, WIDTH, '  '));
  }
  return `${lines.join('\n')}\n`;
}

/** Only where there is somebody else to tell it from. */
function firstFailureLines({ first_failure: first, verdicts }: DiagnoseResult): string[] {
  if (first === null) return [];
  const others: string[] = [];
  if (first.also_failed.length > 0) others.push(`failed too: ${ranks(first.also_failed)}`);
  if (first.victims.length > 0) others.push(`only waited for it: ${ranks(first.victims)}`);
  const isHeadline = verdicts[0] === undefined || first.rank === null || verdicts[0].rank === first.rank;
  if (others.length === 0 && isHeadline) return [];
  const who = first.rank === null ? 'a rank that is not named' : `rank ${first.rank}`;
  const where = `${printable(first.file)} line ${first.line}`;
  return [
    '',
    ...labelled('first', `${who} failed first (${where}: ${first.why})${others.map((text) => `; ${text}`).join('')}`),
  ];
}

const MOST_RANKS = 12;

function ranks(list: readonly number[]): string {
  const shown = list.slice(0, MOST_RANKS).join(', ');
  const more = list.length - MOST_RANKS;
  return `rank${list.length === 1 ? '' : 's'} ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Ranks that fail alike get one line each: a reader with 32 ranks wants one screen. `--json` has them all in full. */
function sameStory(verdict: Verdict, first: Verdict | undefined): boolean {
  return verdict.cause === first?.cause && verdict.detail === first.detail;
}

function place(verdict: Verdict): string {
  const rank = verdict.rank === null ? 'rank unknown' : `rank ${verdict.rank}`;
  return verdict.device === null ? rank : `${rank} · device ${verdict.device}`;
}

function verdictLines(verdict: Verdict, run: string, count: number): string[] {
  const isOom = verdict.cause !== 'not_oom';
  const source = mainSource(verdict);
  const head = `${isOom ? 'OOM' : 'NO OOM'} · ${place(verdict)} · run ${printable(run)}${count > 1 ? ` · ${count} verdicts` : ''}`;
  const detail = verdict.detail === null ? '' : ` (${verdict.detail.replaceAll('_', ' ')})`;
  const title = `VERDICT  ${verdict.cause.replaceAll('_', ' ')}${detail}`;
  const confidence = `confidence ${verdict.confidence}`;
  const lines = [head, `${title}${' '.repeat(Math.max(2, WIDTH - title.length - confidence.length))}${confidence}`];
  lines.push(...wrap(`         ${printable(verdict.summary)}`, WIDTH, '         '), '');
  if (verdict.accounting_total !== null) {
    const parts = verdict.accounting.map((part) => `${part.part.replaceAll('_', ' ')} ${formatBytes(part.bytes)}`);
    const sum = parts.join(' + ');
    lines.push(
      ...labelled(
        'bytes',
        `${formatBytes(verdict.accounting_total.bytes)} = ${sum}  (${verdict.accounting_total.text})`,
      ),
    );
  }
  for (const entry of verdict.evidence) {
    const from = entry.source === source ? '' : `  [${printable(entry.source)}]`;
    lines.push(...labelled(entry.id, `${printable(entry.text)}${from}`));
  }
  if (source !== undefined) lines.push(...labelled('', `[${printable(source)}]`));
  lines.push(
    ...list(
      'not why',
      verdict.ruled_out.map((entry) => `${entry.cause.replaceAll('_', ' ')}: ${entry.why}`),
    ),
  );
  lines.push(...list('not tested', verdict.missing));
  lines.push(...list('next', verdict.next));
  return lines;
}

/** The source most evidence comes from; it is named once, below. */
function mainSource(verdict: Verdict): string | undefined {
  const counts = new Map<string, number>();
  for (const { source } of verdict.evidence) counts.set(source, (counts.get(source) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

function list(label: string, texts: readonly string[]): string[] {
  return texts.flatMap((text, i) => labelled(i === 0 ? label : '', printable(text)));
}

function labelled(label: string, text: string): string[] {
  return wrap(`  ${label.padEnd(LABEL)}${text}`, WIDTH, INDENT);
}
