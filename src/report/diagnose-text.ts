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
  for (const failed of result.failed_sources) {
    lines.push(
      '',
      ...wrap(
        `not read: ${printable(failed.path)}: ${printable(failed.error.text)} (${failed.error.code})`,
        WIDTH,
        '  ',
      ),
    );
  }
  return `${lines.join('\n')}\n`;
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
  const head = `${isOom ? 'OOM' : 'NO OOM'} · ${place(verdict)} · run ${printable(run)}${count > 1 ? ` · ${count} verdicts` : ''}`;
  const detail = verdict.detail === null ? '' : ` (${verdict.detail.replaceAll('_', ' ')})`;
  const title = `VERDICT  ${verdict.cause.replaceAll('_', ' ')}${detail}`;
  const confidence = `confidence ${verdict.confidence}`;
  const lines = [head, `${title}${' '.repeat(Math.max(2, WIDTH - title.length - confidence.length))}${confidence}`];
  lines.push(...wrap(printable(verdict.summary), WIDTH - 9, '').map((line) => `         ${line}`), '');
  if (verdict.request !== null) {
    const site = verdict.request.site === null ? '' : `   in  ${printable(verdict.request.site)}`;
    lines.push(...labelled('asked', `${formatBytes(verdict.request.bytes)}${site}`));
  }
  if (verdict.accounting_total !== null) {
    const parts = verdict.accounting.map((part) => `${part.part.replaceAll('_', ' ')} ${formatBytes(part.bytes)}`);
    lines.push(
      ...labelled(
        'accounting',
        `${formatBytes(verdict.accounting_total.bytes)} = ${parts.join(' + ').replaceAll('+ -', '− ')}`,
      ),
    );
    lines.push(...labelled('', `(${verdict.accounting_total.text})`));
  }
  for (const entry of verdict.evidence)
    lines.push(...labelled(entry.id, `${printable(entry.text)}  [${printable(entry.source)}]`));
  verdict.ruled_out.forEach((entry, i) => {
    lines.push(...labelled(i === 0 ? 'not why' : '', `${entry.cause.replaceAll('_', ' ')}: ${printable(entry.why)}`));
  });
  verdict.missing.forEach((text, i) => {
    lines.push(...labelled(i === 0 ? 'not tested' : '', printable(text)));
  });
  verdict.next.forEach((text, i) => {
    lines.push(...labelled(i === 0 ? 'next' : '', printable(text)));
  });
  return lines;
}

function labelled(label: string, text: string): string[] {
  const [first, ...rest] = wrap(text, WIDTH - LABEL - 2, '');
  return [`  ${label.padEnd(LABEL)}${first}`, ...rest.map((line) => INDENT + line)];
}
