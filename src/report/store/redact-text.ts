/** The screen of `redact`. */
import type { RedactResult } from '../../model/results/redact.js';
import { counted } from '../../model/units.js';
import { printable } from '../plain-text.js';

/** Rows of `suspicious` on a screen. */
const MOST_SHOWN = 20;

export function redactText({ directory, names_file: namesFile, report, differences }: RedactResult): string {
  const lines: string[] = [];
  const { suspicious } = report;
  if (namesFile !== null) {
    const replaced = report.kinds.reduce((sum, kind) => sum + kind.replaced, 0);
    const files = counted(report.files.length, 'file');
    lines.push(`WRITTEN    ${printable(directory)}  (${files}, ${counted(replaced, 'place')} replaced)`);
    for (const { kind, names, replaced: places } of report.kinds)
      if (places > 0) lines.push(`           ${kind.padEnd(8)} ${counted(names, 'name')}, ${counted(places, 'place')}`);
    for (const { file, why } of report.left_out) lines.push(`LEFT OUT   ${printable(file)}  (${printable(why)})`);
    lines.push(
      `DIAGNOSIS  ${report.diagnosis === 'equal' ? 'same as for the original, except for names' : 'differs from the diagnosis of the original:'}`,
    );
    for (const path of differences) lines.push(`           ${printable(path)}`);
    lines.push(`NAMES      ${printable(namesFile)}  (the key and the original names; do not share it)`);
  }
  if (suspicious.length === 0) lines.push('CHECK      nothing looks like a name or a key');
  else {
    lines.push(`CHECK      ${counted(suspicious.length, 'text')} may be a name or a key:`);
    for (const { text, kind } of suspicious.slice(0, MOST_SHOWN))
      lines.push(`           ${kind.padEnd(8)} ${printable(text)}`);
    if (suspicious.length > MOST_SHOWN) lines.push(`           and ${suspicious.length - MOST_SHOWN} more`);
  }
  return `${lines.join('\n')}\n`;
}
