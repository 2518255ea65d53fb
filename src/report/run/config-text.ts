/** Settings in force, and what differs. */
import type { ConfigEntry, ConfigResult } from '../../model/results/log.js';
import { formatCount } from '../../model/units.js';
import { keepEnd, left, printable, tableOf } from '../table.js';
import { shortText, UNKNOWN } from '../text-pieces.js';

const VALUE_WIDTH = 40;
const MOST_ONE_SIDED = 40;

export function configText(result: ConfigResult): string {
  return result.diff === null ? settingsText(result) : diffText(result, result.diff);
}

function value(text: string | null, width = VALUE_WIDTH): string {
  return text === null ? 'null' : shortText(text, width);
}

function place(entry: { readonly file: string; readonly line: number }): string {
  return `${keepEnd(printable(entry.file), 30)}:${entry.line}`;
}

function settingsTable(entries: readonly ConfigEntry[]): string {
  return tableOf(entries, [
    left('setting', (entry) => keepEnd(entry.key, 44)),
    left('value', (entry) => value(entry.value)),
    left('origin', (entry) => entry.origin),
  ]);
}

function settingsText(result: ConfigResult): string {
  if (result.settings.length === 0) return `run ${printable(result.run)}: no setting was found\n`;
  const memory = result.settings.filter((entry) => entry.memory);
  const otherSettings = result.settings.filter((entry) => !entry.memory);
  const lines = [`run ${printable(result.run)}: ${formatCount(result.settings.length)} settings`];
  if (memory.length > 0) lines.push('', 'bearing on memory', settingsTable(memory));
  if (otherSettings.length > 0) lines.push('', 'others', settingsTable(otherSettings));
  if (result.conflicts.length > 0) {
    lines.push('', 'several sources differ; the first is used');
    for (const conflict of result.conflicts) {
      const values = conflict.values
        .slice(0, 4)
        .map((found) => `${value(found.value, 24)} (${found.origin}, ${place(found)})`);
      lines.push(`  ${keepEnd(printable(conflict.key), 44)}: ${values.join('; ')}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function diffText(result: ConfigResult, diff: NonNullable<ConfigResult['diff']>): string {
  const here = printable(result.run);
  const there = printable(diff.other);
  const lines = [
    `${here} against ${there}: ${formatCount(diff.different.length)} differ, ${formatCount(diff.only_here.length)} only in ${here}, ${formatCount(diff.only_there.length)} only in ${there}, ${formatCount(diff.equal)} equal`,
  ];
  for (const [title, memory] of [
    ['bearing on memory', true],
    ['others', false],
  ] as const) {
    const rows = diff.different.filter((entry) => entry.memory === memory);
    if (rows.length === 0) continue;
    lines.push(
      '',
      title,
      tableOf(rows, [
        left('setting', (row) => keepEnd(row.key, 44)),
        left(shortText(here, 30), (row) => value(row.value, 26)),
        left(shortText(there, 30), (row) => value(row.other_value, 26)),
      ]),
    );
  }
  for (const [name, entries] of [
    [here, diff.only_here],
    [there, diff.only_there],
  ] as const) {
    if (entries.length === 0) continue;
    lines.push('', `only in ${name}`, settingsTable(entries.slice(0, MOST_ONE_SIDED)));
    if (entries.length > MOST_ONE_SIDED)
      lines.push(`  ${formatCount(entries.length - MOST_ONE_SIDED)} more; --json shows all`);
  }
  if (diff.different.length === 0 && result.settings.length === 0)
    lines.push(`  ${UNKNOWN} no setting was found in ${here}`);
  return `${lines.join('\n')}\n`;
}
